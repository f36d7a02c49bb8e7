#include "compiler/ops/infer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "compiler/ops/infer_contents.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

void infer_nodes(Graph& graph, Graph& outermost);
std::vector<Value> infer_anew(Graph& body, const std::vector<Value>& input_types, Graph& outermost);

bool same_type(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.contents == b.contents && a.constant == b.constant;
}

/// Caches the results of inferring subgraphs, by their input types. It is valid within the outermost call of this file,
/// because then only inference changes the graph. Loops infer their subgraphs again with wider types, each time from
/// the narrowest ones. Without the cache, each nesting level would double the number of inferences.
class BodyMemo {
 public:
  BodyMemo() : is_outermost_(current_ == nullptr) {
    if (is_outermost_) current_ = &bodies_;
  }
  ~BodyMemo() {
    if (is_outermost_) current_ = nullptr;
  }
  BodyMemo(const BodyMemo&) = delete;
  BodyMemo& operator=(const BodyMemo&) = delete;

  /// The outputs. Until settle(), the subgraph itself may still have types of an earlier inference.
  static std::vector<Value> infer(Graph& body, const std::vector<Value>& types, Graph& outermost) {
    Known& known = (*current_)[&body];
    for (size_t i = 0; i < known.all.size(); ++i)
      if (std::equal(known.all[i].inputs.begin(), known.all[i].inputs.end(), types.begin(), types.end(), same_type)) {
        known.latest = i;
        return known.all[i].outputs;
      }
    if (known.all.size() == kMostKept) known = {};
    std::vector<Value> outputs = infer_anew(body, types, outermost);
    known.all.push_back({types, outputs});
    known.latest = known.inferred = known.all.size() - 1;
    return outputs;
  }

  /// Gives the subgraph the types of the last request.
  static void settle(Graph& body, Graph& outermost) {
    const auto known = current_->find(&body);
    if (known == current_->end() || known->second.all.empty() || known->second.latest == known->second.inferred) return;
    infer_anew(body, known->second.all[known->second.latest].inputs, outermost);
    known->second.inferred = known->second.latest;
  }

 private:
  static constexpr size_t kMostKept = 16;
  struct Types {
    std::vector<Value> inputs, outputs;
  };
  struct Known {
    std::vector<Types> all;
    size_t latest = 0, inferred = 0;
  };
  using Bodies = std::map<const Graph*, Known>;

  static inline thread_local Bodies* current_ = nullptr;
  Bodies bodies_;
  const bool is_outermost_;
};

class NodeInference final : public InferContext {
 public:
  NodeInference(Graph& graph, Node& node, Graph& outermost) : InferContext(graph, node, outermost) {}

  void finish() {
    forget_unused_symbols();
    for (const auto& body : node_->bodies) BodyMemo::settle(*body, *outermost_);
  }

  std::vector<Value> infer_body(int i, const std::vector<Value>& input_types) override {
    Graph& body = *node_->bodies.at(static_cast<size_t>(i));
    if (input_types.size() != body.inputs.size())
      fail(concat("body ", i, " takes ", body.inputs.size(), " inputs, not ", input_types.size()));
    return BodyMemo::infer(body, input_types, *outermost_);
  }
};

/// A subgraph may be inferred several times with ever wider input types, so it must not keep earlier types.
void forget_types(Graph& body) {
  body.constraints.clear();
  for (int64_t v = 0; v < body.value_count(); ++v) {
    Value& value = body.value(ValueId(v));
    if (value.is_constant()) continue;
    value.shape.reset();
    value.contents.reset();
  }
}

void set_type(Value& input, const Value& type) {
  input.dtype = type.dtype;
  input.shape = type.shape;
  input.contents = type.contents;
  const TensorRef& c = type.constant;
  if (!input.contents && c && (is_int(c->dtype()) || c->dtype() == DType::boolean) && c->rank() <= 1 &&
      c->elements() <= 64)
    input.contents = as_contents(*c);
}

/// Inference records facts on the outermost graph. Facts from a subgraph only hold when the subgraph runs. Therefore
/// this class moves them to the subgraph, also if inference fails.
class FactKeeper {
 public:
  FactKeeper(Graph& graph, Graph& outermost)
      : graph_(graph), outermost_(outermost), known_(outermost.constraints.size()) {}
  ~FactKeeper() {
    if (&graph_ == &outermost_) return;
    auto& facts = outermost_.constraints;
    for (size_t i = known_; i < facts.size(); ++i)
      if (!recorded(facts[i])) graph_.constraints.push_back(facts[i]);
    facts.resize(known_);
  }
  FactKeeper(const FactKeeper&) = delete;
  FactKeeper& operator=(const FactKeeper&) = delete;

 private:
  bool recorded(const DimConstraint& fact) const {
    for (const DimConstraint& c : graph_.constraints)
      if (c.a == fact.a && c.b == fact.b) return true;
    return false;
  }

  Graph& graph_;
  Graph& outermost_;
  size_t known_;
};

bool ranks_known(const Graph& graph, const Node& node) {
  for (ValueId in : node.inputs)
    if (in.valid() && !graph.value(in).shape) return false;
  return true;
}

void check_arity(const Graph& graph, const Node& node) {
  const OpDef& o = *node.op;
  const auto inputs = static_cast<int>(node.inputs.size()) - node.captures,
             outputs = static_cast<int>(node.outputs.size());
  if (inputs < o.min_inputs || (o.max_inputs >= 0 && inputs > o.max_inputs))
    fail(o.name, " '", node.name, "' in graph '", graph.name, "' has ", inputs, " inputs; the operator takes ",
         o.min_inputs,
         o.max_inputs < 0               ? " or more"
         : o.max_inputs == o.min_inputs ? ""
                                        : concat(" to ", o.max_inputs));
  if (outputs < o.min_outputs || (o.max_outputs >= 0 && outputs > o.max_outputs))
    fail(o.name, " '", node.name, "' in graph '", graph.name, "' has ", outputs, " outputs; the operator gives ",
         o.min_outputs,
         o.max_outputs < 0                ? " or more"
         : o.max_outputs == o.min_outputs ? ""
                                          : concat(" to ", o.max_outputs));
}

void check_types(const InferContext& ctx) {
  const DeclaredTypes& types = ctx.node().op->types;
  for (int i = 0; i < ctx.input_count() - ctx.node().captures; ++i) {
    if (!ctx.has_input(i) || (ctx.dtype(i) == DType::undefined && ctx.node().op->allows_unknown_rank)) continue;
    const Types of = types.of(i);
    const std::optional<int> model = model_of(of);
    if (!model) {
      if (!is_one_of(ctx.dtype(i), of))
        ctx.fail(concat("input ", i, " is ", name_of(ctx.dtype(i)), ", it must be ", phrase_of(of)));
    } else if (i != *model && ctx.dtype(i) != ctx.dtype(*model)) {
      ctx.fail(
          concat("input ", i, " is ", name_of(ctx.dtype(i)), ", input ", *model, " is ", name_of(ctx.dtype(*model))));
    }
  }
}

/// Checks declared result types. Internal operators do not declare any.
void check_results(const Graph& graph, const Node& node) {
  if (std::string_view(node.op->domain) == "gart") return;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    const DType type = graph.value(node.outputs[i]).dtype;
    const Types of = node.op->results.of(static_cast<int>(i));
    const std::optional<int> model = model_of(of);
    const bool declared =
        model ? type == graph.value(node.inputs.at(static_cast<size_t>(*model))).dtype : is_one_of(type, of);
    GCG_CHECK(declared, node.op->name, " '", node.name, "' gives output ", i, " of type ", name_of(type),
              ", its declaration says ", phrase_of(of));
  }
}

void collect_fresh_symbols(const Graph& graph, std::set<std::string>& out) {
  for (int64_t i = 0; i < graph.node_count(); ++i) {
    const Node& n = graph.node(NodeId(i));
    if (const auto it = n.attributes.find(kSymbolsAttribute); it != n.attributes.end())
      for (const std::string& s : std::get<std::vector<std::string>>(it->second)) out.insert(s);
    for (const auto& body : n.bodies) collect_fresh_symbols(*body, out);
  }
}

bool all_in(const Dim& d, const std::set<std::string>& names) {
  const std::set<std::string> symbols = d.symbols();
  return std::includes(names.begin(), names.end(), symbols.begin(), symbols.end());
}

void infer_nodes(Graph& graph, Graph& outermost) {
  for (NodeId id : graph.order()) infer_node(graph, id, outermost);
}

std::vector<Value> infer_anew(Graph& body, const std::vector<Value>& input_types, Graph& outermost) {
  forget_types(body);
  for (size_t i = 0; i < input_types.size(); ++i) set_type(body.value(body.inputs[i]), input_types[i]);
  infer_nodes(body, outermost);
  std::vector<Value> out;
  out.reserve(body.outputs.size());
  for (ValueId v : body.outputs) out.push_back(body.value(v));
  return out;
}

}  // namespace

void infer_node(Graph& graph, NodeId id, Graph& outermost) {
  const BodyMemo memo;
  Node& node = graph.node(id);
  check_arity(graph, node);
  for (ValueId out : node.outputs)
    if (out.valid()) graph.value(out).contents.reset();
  if (!node.op->infer || !(node.op->allows_unknown_rank || ranks_known(graph, node))) return;
  const FactKeeper keeper(graph, outermost);
  NodeInference context(graph, node, outermost);
  check_types(context);
  node.op->infer(context);
  check_results(graph, node);
  context.finish();
  infer_contents(graph, node);
}

std::vector<Value> infer_body(Graph& body, const std::vector<Value>& input_types, Graph& outermost) {
  const BodyMemo memo;
  return infer_anew(body, input_types, outermost);
}

void infer_graph(Graph& graph) {
  const BodyMemo memo;
  infer_nodes(graph, graph);
  // Inference with more knowledge may drop symbols. Constraints on dropped symbols have no meaning.
  std::set<std::string> bound;
  for (ValueId in : graph.inputs)
    if (graph.value(in).shape)
      for (const Dim& d : *graph.value(in).shape) bound.merge(d.symbols());
  collect_fresh_symbols(graph, bound);
  std::erase_if(graph.constraints, [&](const DimConstraint& c) { return !all_in(c.a, bound) || !all_in(c.b, bound); });
}

}  // namespace gcg
