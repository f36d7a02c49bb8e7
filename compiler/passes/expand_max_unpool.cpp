#include "compiler/passes/expand_max_unpool.h"

#include "compiler/ops/max_unpool.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/expand_each.h"

namespace gcg {
namespace {

/// The result's shape: batch, channels, then (extent of x - 1) * stride + kernel - pads in each spatial dimension.
ValueId unpooled_shape(NodeBuilder& b, ValueId x, const UnpoolParams& params) {
  const auto rank = static_cast<int64_t>(params.kernel.size()) + 2;
  std::vector<int64_t> added;
  for (size_t d = 0; d < params.kernel.size(); ++d) added.push_back(params.added(d));
  const ValueId shape = b.node("Shape", {x});
  const ValueId steps = b.multiply(b.slice(shape, 0, 2, rank), b.ints(params.strides));
  return b.concat({b.slice(shape, 0, 0, 2), b.add(steps, b.ints(added))}, 0);
}

void expand(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  NodeBuilder b(graph, node.name);
  const ValueId x = node.inputs[0], indices = node.inputs[1], y = node.outputs[0];
  const ValueId requested_shape = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
  const UnpoolParams params(node, graph.value(x).shape->size());
  const auto flat = [&](ValueId v) { return b.node("Reshape", {v, b.ints({-1})}); };
  const ValueId shape = unpooled_shape(b, x, params);
  const ValueId count = b.node("ReduceProd", {shape, b.ints({0})}, {{"keepdims", int64_t{1}}});
  const ValueId zeros = b.node("ConstantOfShape", {count},
                               {{"value", std::make_shared<const Tensor>(Tensor(graph.value(x).dtype, {1}))}});
  ValueId all =
      b.node("Reshape", {b.node("ScatterElements", {zeros, flat(indices), flat(x)}, {{"axis", int64_t{0}}}), shape});
  if (requested_shape.valid()) {
    const ValueId none = b.ints(std::vector<int64_t>(params.kernel.size() + 2, 0));
    all = b.node("Pad", {all, b.concat({none, b.subtract(requested_shape, shape)}, 0)});
  }
  b.replace(y, all);
  graph.erase_node(id);
}

}  // namespace

bool expand_max_unpool(Graph& graph) { return expand_each(graph, op_MaxUnpool, expand); }

}  // namespace gcg
