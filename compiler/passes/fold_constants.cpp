#include "compiler/passes/fold_constants.h"

#include <algorithm>
#include <set>

#include "compiler/ops/deferred_constants.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// A result with at most this many bytes is always stored.
constexpr int64_t kAlwaysBytes = int64_t{16} * 1024;
/// A larger result may have at most this many times the bytes of the inputs.
constexpr int64_t kMostGrowth = 2;

class ConstantContext final : public ReferenceContext {
 public:
  ConstantContext(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}
  const Node& node() const override { return node_; }
  const Tensor* input(int i) const override {
    const auto k = static_cast<size_t>(i);
    if (k >= node_.inputs.size() || !node_.inputs[k].valid()) return nullptr;
    return graph_.value(node_.inputs[k]).constant.get();
  }
  DType output_dtype(int i) const override {
    const ValueId v = node_.outputs.at(static_cast<size_t>(i));
    return v.valid() ? graph_.value(v).dtype : DType::undefined;
  }
  std::vector<Tensor> run_body(int, std::vector<Tensor>) override {
    GCG_CHECK(false, "a node with bodies is not folded");
    return {};
  }

 private:
  const Graph& graph_;
  const Node& node_;
};

/// True for operators that pack weights. They are folded for constant weights of any size.
bool packs(const Node& node) { return node.op == &op("PackMatMul", "gart") || node.op == &op("PackConv", "gart"); }
bool transforms_weights(const Node& node) { return node.op == &op("WinogradWeights", "gart"); }

/// Tables from which a run selects rows.
std::set<ValueId> chosen_from(const Graph& graph) {
  std::set<ValueId> tables;
  for (NodeId id : graph.order())
    if (graph.node(id).op == &op("Gather")) tables.insert(graph.node(id).inputs[0]);
  return tables;
}

/// The bytes of an input, for comparison with the result. Weights of 8 bits or fewer count in the result's type,
/// because a run would have to convert and pack them. Tables and masks count as stored: a run converts only the rows of
/// a table that it reads, and only the elements that a mask selects.
int64_t bytes_as(const Tensor& input, const Value& result, bool is_table) {
  const bool converts = size_of(input.dtype()) == 1 && input.dtype() != DType::boolean && !is_table;
  return converts ? input.elements() * size_of(result.dtype) : input.bytes();
}

/// True if all outputs have known sizes and none is much larger than the inputs together.
bool worth_storing(const Graph& graph, const Node& node, const std::set<ValueId>& tables) {
  for (ValueId v : node.outputs) {
    if (!v.valid()) continue;
    const Value& value = graph.value(v);
    if (!value.shape || !is_static(*value.shape) || value.dtype == DType::undefined) return false;
    int64_t in = 0;
    for (ValueId i : node.inputs)
      if (i.valid()) in += bytes_as(*graph.value(i).constant, value, tables.contains(v));
    const int64_t bytes = product(*value.shape).constant() * size_of(value.dtype);
    const bool may_grow = packs(node) || transforms_weights(node);
    if (!may_grow && bytes > std::max(kAlwaysBytes, kMostGrowth * in)) return false;
  }
  return true;
}

bool foldable(const Graph& graph, const Node& node, const std::set<ValueId>& tables) {
  if (!node.op->reference || !node.bodies.empty() || std::string_view(node.op->name) == "Fail") return false;
  if (node.op == &op("UnpackWeights", "gart")) return false;  // the packed words are kept for another product
  const bool constant = std::all_of(node.inputs.begin(), node.inputs.end(),
                                    [&](ValueId v) { return !v.valid() || graph.value(v).is_constant(); });
  return constant && worth_storing(graph, node, tables);
}

/// True for operators that only reorder the elements of their single input, or pad it.
bool rearranges(const Node& node) { return node.op == &op("Transpose") || packs(node); }

/// Packing reads the source of a matrix that was transposed, if it is not in memory.
Recipe packing_of_source(Recipe packing) {
  const std::shared_ptr<const DeferredElements> b = packing.inputs[0]->deferred();
  if (packing.op != &op("PackMatMul", "gart") || !b || b->recipe().op != &op("Transpose")) return packing;
  const std::vector<int64_t>&from = b->recipe().inputs[0]->shape(), &to = packing.inputs[0]->shape();
  if (!std::equal(from.begin(), from.end(), to.rbegin(), to.rend()) || size_of(packing.inputs[0]->dtype()) == 1)
    return packing;
  packing.attributes["transposed"] = int64_t{1};
  packing.inputs[0] = b->recipe().inputs[0];
  return packing;
}

/// Results of operators that only move elements are computed when they are read.
std::vector<Tensor> results_of(const Graph& graph, const Node& node) {
  if (rearranges(node) || node.op == &op("Concat")) {
    Recipe recipe{node.op, node.attributes, {}};
    for (ValueId v : node.inputs) recipe.inputs.push_back(graph.value(v).constant);
    recipe = packing_of_source(std::move(recipe));
    const Value& result = graph.value(node.outputs[0]);
    return {computed_when_read(std::move(recipe), result.dtype, to_extents(*result.shape))};
  }
  ConstantContext context(graph, node);
  return node.op->reference(context);
}

bool fold_node(Rewriter& r, NodeId id, const std::set<ValueId>& tables) {
  const Node& node = r.graph.node(id);
  if (!foldable(r.graph, node, tables)) return false;
  std::vector<Tensor> results = results_of(r.graph, node);
  const std::vector<ValueId> outputs = node.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid()) continue;
    const Value& v = r.value(outputs[i]);
    GCG_CHECK(results[i].dtype() == v.dtype && to_shape(results[i].shape()) == *v.shape, node.op->name, " '", node.name,
              "' is inferred as ", name_of(v.dtype), str(*v.shape), ", its reference gives ",
              name_of(results[i].dtype()), str(to_shape(results[i].shape())));
    if (rearranges(node)) {
      const Rearrangement how{node.op, node.attributes, r.value(node.inputs[0]).constant};
      results[i].set_rearrangement(std::make_shared<const Rearrangement>(how));
    }
    r.make_constant(outputs[i], std::make_shared<const Tensor>(std::move(results[i])));
  }
  r.graph.erase_node(id);
  return true;
}

bool fold_contents(Rewriter& r, ValueId id) {
  const Value& v = r.value(id);
  if (v.is_constant() || !v.producer.valid() || !v.contents || !is_static(*v.contents) || !v.shape ||
      !is_static(*v.shape))
    return false;
  Tensor data(v.dtype, to_extents(*v.shape));
  if (data.elements() != static_cast<int64_t>(v.contents->size())) return false;
  for (size_t i = 0; i < v.contents->size(); ++i) data.set_int(static_cast<int64_t>(i), (*v.contents)[i].constant());
  const NodeId producer = v.producer;
  r.make_constant(id, std::make_shared<const Tensor>(std::move(data)));
  r.erase_if_dead(producer);
  return true;
}

bool fold(Rewriter& r, bool keep_quantized) {
  bool changed = false;
  const std::set<ValueId> tables = chosen_from(r.graph);
  for (NodeId id : r.graph.order()) {
    const std::vector<ValueId> outputs = r.graph.node(id).outputs;
    for (ValueId v : outputs)
      if (v.valid()) changed |= fold_contents(r, v);
    const Node& node = r.graph.node(id);
    if (!node.erased && !(keep_quantized && node.op == &op("DequantizeLinear"))) changed |= fold_node(r, id, tables);
  }
  return changed;
}

}  // namespace

bool fold_constants(Graph& graph, bool keep_quantized) {
  const bool changed = edit_all(graph, [&](Rewriter& r) { return fold(r, keep_quantized); });
  if (changed) infer_graph(graph);  // readers of a new constant may have a known shape now
  return changed;
}

}  // namespace gcg
