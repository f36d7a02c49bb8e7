#include "compiler/reference/interpreter.h"

#include "compiler/ops/op_def.h"
#include "compiler/reference/symbol_binding.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

std::string type_text(DType dtype, const std::vector<int64_t>& shape) {
  return concat(name_of(dtype), str(to_shape(shape)));
}
std::string type_text(const Tensor& t) { return type_text(t.dtype(), t.shape()); }
std::string type_text(const Value& v) { return concat(name_of(v.dtype), v.shape ? str(*v.shape) : std::string("[?]")); }

bool fits(const Value& v, const Tensor& t, SymbolValues& symbols) {
  if (v.dtype != DType::undefined && v.dtype != t.dtype()) return false;
  if (!v.shape) return true;
  if (static_cast<int64_t>(v.shape->size()) != t.rank()) return false;
  for (size_t d = 0; d < v.shape->size(); ++d)
    if (!bind_extent((*v.shape)[d], t.shape()[d], symbols)) return false;
  return true;
}

bool contents_fit(const Value& v, const Tensor& t, SymbolValues& symbols) {
  if (!v.contents) return true;
  if (static_cast<int64_t>(v.contents->size()) != t.elements()) return false;
  for (size_t i = 0; i < v.contents->size(); ++i)
    if (!bind_extent((*v.contents)[i], t.at_int(static_cast<int64_t>(i)), symbols)) return false;
  return true;
}

/// Checks the constraints whose symbols are known. Constraints on inputs are checked before the graph or subgraph runs,
/// the others after it.
void check_constraints(const Graph& graph, const SymbolValues& symbols) {
  for (const DimConstraint& c : graph.constraints) {
    if (!is_known(c.a, symbols) || !is_known(c.b, symbols)) continue;
    const int64_t a = c.a.evaluate(symbols), b = c.b.evaluate(symbols);
    if (a != b) fail(c.reason, ": ", c.a.str(), " is ", a, " and ", c.b.str(), " is ", b);
  }
}

/// One run of a graph or subgraph.
class Run {
 public:
  Run(const Graph& graph, SymbolValues& symbols) : graph_(graph), symbols_(symbols) {}

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) {
    if (inputs.size() != graph_.inputs.size())
      fail("graph '", graph_.name, "' takes ", graph_.inputs.size(), " inputs, not ", inputs.size());
    values_.resize(static_cast<size_t>(graph_.value_count()));
    reads_.resize(values_.size());
    for (int64_t i = 0; i < graph_.node_count(); ++i)
      for (ValueId in : graph_.node(NodeId(i)).inputs)
        if (in.valid()) ++reads_[static_cast<size_t>(in.index)];
    for (ValueId out : graph_.outputs) ++reads_[static_cast<size_t>(out.index)];
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& v = graph_.value(graph_.inputs[i]);
      if (!fits(v, inputs[i], symbols_))
        fail("input '", v.name, "' is ", type_text(inputs[i]), "; the model requires ", type_text(v), known_symbols());
      slot(graph_.inputs[i]) = inputs[i];
    }
    check_constraints(graph_, symbols_);
    for (NodeId id : graph_.order()) run(graph_.node(id));
    check_constraints(graph_, symbols_);
    std::vector<Tensor> out;
    for (ValueId v : graph_.outputs) out.push_back(read(v));
    return out;
  }

 private:
  class Context final : public ReferenceContext {
   public:
    Context(const Run& run, const Node& node) : run_(run), node_(node) {
      for (ValueId in : node.inputs) inputs_.push_back(in.valid() ? run.read(in) : Tensor());
    }
    const Node& node() const override { return node_; }
    const Tensor* input(int i) const override {
      const auto k = static_cast<size_t>(i);
      return k < inputs_.size() && node_.inputs[k].valid() ? &inputs_[k] : nullptr;
    }
    DType output_dtype(int i) const override {
      const ValueId out = node_.outputs.at(static_cast<size_t>(i));
      return out.valid() ? run_.graph_.value(out).dtype : DType::undefined;
    }
    std::vector<Tensor> run_body(int i, std::vector<Tensor> inputs) override {
      SymbolValues inner = run_.symbols_;  // symbols that a run of a subgraph learns are valid in this run only
      return Run(*node_.bodies.at(static_cast<size_t>(i)), inner)(inputs);
    }

   private:
    const Run& run_;
    const Node& node_;
    std::vector<Tensor> inputs_;
  };

  Tensor& slot(ValueId v) { return values_[static_cast<size_t>(v.index)]; }
  const Tensor& read(ValueId v) const {
    const Value& value = graph_.value(v);
    return value.is_constant() ? *value.constant : values_[static_cast<size_t>(v.index)];
  }

  std::string known_symbols() const {
    std::string out;
    for (const auto& [name, value] : symbols_) out += concat(out.empty() ? " with " : ", ", name, " = ", value);
    return out;
  }

  void run(const Node& node) {
    if (!node.op->reference) fail(node.op->name, " '", node.name, "' has no reference implementation");
    Context context(*this, node);
    std::vector<Tensor> results = node.op->reference(context);
    GCG_CHECK(results.size() >= node.outputs.size(), node.op->name, " '", node.name, "' gave ", results.size(),
              " outputs of ", node.outputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) store(node, node.outputs[i], std::move(results[i]));
    for (ValueId in : node.inputs)
      if (in.valid() && --reads_[static_cast<size_t>(in.index)] == 0) slot(in) = Tensor();
  }

  void store(const Node& node, ValueId id, Tensor result) {
    const Value& v = graph_.value(id);
    GCG_CHECK(fits(v, result, symbols_), node.op->name, " '", node.name, "': output '", v.name, "' is inferred as ",
              type_text(v), ", but its reference gives ", type_text(result), known_symbols());
    GCG_CHECK(contents_fit(v, result, symbols_), node.op->name, " '", node.name, "': the elements of '", v.name,
              "' are inferred as ", str(*v.contents), ", but its reference gives ", str(to_shape(result.to_ints())),
              known_symbols());
    if (reads_[static_cast<size_t>(id.index)] > 0) slot(id) = std::move(result);
  }

  const Graph& graph_;
  SymbolValues& symbols_;
  std::vector<Tensor> values_;
  std::vector<int> reads_;  // per value: the number of remaining reads
};

}  // namespace

std::vector<Tensor> interpret(const Graph& graph, const std::vector<Tensor>& inputs) {
  SymbolValues symbols;
  if (inputs.size() == graph.inputs.size())
    for (size_t i = 0; i < inputs.size(); ++i) fits(graph.value(graph.inputs[i]), inputs[i], symbols);
  return Run(graph, symbols)(inputs);
}

}  // namespace gcg
