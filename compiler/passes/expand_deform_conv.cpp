#include "compiler/passes/expand_deform_conv.h"

#include <numeric>

#include "compiler/ops/deform_conv.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/expand_each.h"

namespace gcg {
namespace {

using Ints = std::vector<int64_t>;

class DeformConvWriter {
 public:
  DeformConvWriter(Graph& graph, NodeId id)
      : graph_(graph),
        id_(id),
        b_(graph, graph.node(id).name),
        w_(to_extents(*graph.value(input(kDeformW)).shape)),
        dims_(static_cast<int64_t>(w_.size()) - 2),
        group_(node().int_attribute("group", 1)) {}

  void run() {
    const ValueId columns = columns_of(b_.transpose(input(kDeformX), channels_last()));
    ValueId y = group_ == 1 ? product(columns) : grouped_product(columns);  // [N, positions, M]
    if (input(kDeformBias).valid()) y = b_.add(y, input(kDeformBias));
    y = b_.node("Reshape", {y, shape_before_transpose()});
    Ints channels_second = {0, dims_ + 1};
    for (int64_t d = 1; d <= dims_; ++d) channels_second.push_back(d);
    b_.replace(node().outputs[0], b_.transpose(y, channels_second));
    graph_.erase_node(id_);
  }

 private:
  const Node& node() const { return graph_.node(id_); }
  ValueId input(size_t i) const { return i < node().inputs.size() ? node().inputs[i] : ValueId(); }
  Ints channels_last() const {
    Ints order = {0};
    for (int64_t d = 0; d < dims_; ++d) order.push_back(d + 2);
    order.push_back(1);
    return order;
  }
  Ints kernel() const { return {w_.begin() + 2, w_.end()}; }
  int64_t taps() const { return std::accumulate(w_.begin() + 2, w_.end(), int64_t{1}, std::multiplies<>()); }
  ValueId reshape(ValueId x, const Ints& shape) { return b_.node("Reshape", {x, b_.ints(shape)}); }

  /// [N, positions, taps * C]
  ValueId columns_of(ValueId x) {
    Node columns;
    columns.op = &op_gart_DeformColumns;
    columns.name = b_.name();
    columns.inputs = {x, input(kDeformOffset)};
    if (input(kDeformMask).valid()) columns.inputs.push_back(input(kDeformMask));
    columns.attributes = node().attributes;
    columns.attributes.erase("group");
    columns.attributes["kernel_shape"] = kernel();
    Value out;
    out.name = graph_.unique_name(b_.name());
    columns.outputs = {graph_.add_value(std::move(out))};
    const ValueId y = columns.outputs[0];
    graph_.add_node(std::move(columns));
    return reshape(y, {0, -1, taps() * w_[1] * group_});
  }

  ValueId product(ValueId columns) {
    const ValueId w = reshape(b_.transpose(input(kDeformW), weights_last()), {taps() * w_[1], w_[0]});
    return b_.node("MatMul", {columns, w});
  }
  /// [k1, .., C, M] from [M, C, k1, ..].
  Ints weights_last() const {
    Ints order(static_cast<size_t>(dims_));
    std::iota(order.begin(), order.end(), 2);
    order.insert(order.end(), {1, 0});
    return order;
  }

  /// One product per group: [N, G, positions, taps * C] times [G, taps * C, M / G].
  ValueId grouped_product(ValueId columns) {
    const ValueId split = b_.transpose(reshape(columns, {0, -1, taps(), group_, w_[1]}), {0, 3, 1, 2, 4});
    const ValueId w = reshape(input(kDeformW), {group_, w_[0] / group_, w_[1], taps()});
    const ValueId factors = reshape(b_.transpose(w, {0, 3, 2, 1}), {group_, taps() * w_[1], w_[0] / group_});
    const ValueId y = b_.node("MatMul", {reshape(split, {0, group_, -1, taps() * w_[1]}), factors});
    return reshape(b_.transpose(y, {0, 2, 1, 3}), {0, -1, w_[0]});
  }

  /// The result as [N, o1, .., M]; the offsets have the output's extents.
  ValueId shape_before_transpose() {
    const ValueId offsets = b_.node("Shape", {input(kDeformOffset)});
    return b_.concat({b_.slice(offsets, 0, 0, 1), b_.slice(offsets, 0, 2, dims_ + 2), b_.ints({w_[0]})}, 0);
  }

  Graph& graph_;
  NodeId id_;
  NodeBuilder b_;
  Ints w_;
  int64_t dims_, group_;
};

}  // namespace

bool expand_deform_conv(Graph& graph) {
  return expand_each(graph, op_DeformConv, [](Graph& g, NodeId id) { DeformConvWriter(g, id).run(); });
}

}  // namespace gcg
