#include "compiler/passes/multiply_by_vectors.h"

#include <numeric>

#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

bool is_gathered(const Rewriter& r, ValueId v) {
  return r.producer(v, op_Gather) != nullptr || r.producer(v, op_GatherND) != nullptr;
}

/// The summed axis of both factors, counted from the end; 0: the product is better as it is.
int64_t summed_axis(const Rewriter& r, const Node& n) {
  if (n.op != &op_MatMul) return 0;
  for (const ValueId v : n.inputs)
    if (!r.has_shape(v) || r.shape(v).size() < 2 || r.constant(v) != nullptr) return 0;
  const DType dtype = r.value(n.inputs[0]).dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return 0;
  const Shape &a = r.shape(n.inputs[0]), &b = r.shape(n.inputs[1]);
  if (b.back().is(1)) return -1;
  return a[a.size() - 2].is(1) && is_gathered(r, n.inputs[1]) ? -2 : 0;
}

ValueId transposed(NodeBuilder& b, ValueId v) {
  std::vector<int64_t> order(b.graph().value(v).shape->size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return b.transpose(v, order);
}

void expand(Graph& graph, NodeId id, int64_t axis) {
  NodeBuilder b(graph, graph.node(id).name);
  const std::vector<ValueId> factors = graph.node(id).inputs;
  const ValueId terms = axis == -1 ? b.multiply(factors[0], transposed(b, factors[1]))
                                   : b.multiply(transposed(b, factors[0]), factors[1]);
  b.replace(graph.node(id).outputs[0], b.node("ReduceSum", {terms, b.ints({axis})}, {{"keepdims", int64_t{1}}}));
  graph.erase_node(id);
}

}  // namespace

bool multiply_by_vectors(Graph& graph) {
  const bool changed = edit_all(graph, [](Rewriter& r) {
    bool any = false;
    for (const NodeId id : r.graph.order()) {
      const int64_t axis = summed_axis(r, r.graph.node(id));
      if (axis == 0) continue;
      expand(r.graph, id, axis);
      r.forget_readers();
      any = true;
    }
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
