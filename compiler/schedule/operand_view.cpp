#include "compiler/schedule/operand_view.h"

#include "compiler/ops/op_def.h"
#include "compiler/schedule/value_lowering.h"

namespace gcg {
namespace {

bool moves(const Node& n) {
  static const std::set<std::string_view> names = {"Transpose", "Slice", "Split", "Expand"};
  return (n.op->kind == OpKind::view && n.op != &op("BitCast")) || names.count(n.op->name) != 0;
}

bool is_strided_view(const Graph& graph, ValueId v, ValueId source) {
  ValueLowering lowering(graph, [&](ValueId x) { return x == source ? source : ValueId(); });
  const auto axes = lowering.axes_for(*graph.value(v).shape);
  std::vector<Expr> index;
  for (const Axis& a : axes) index.push_back(axis_ref(a));
  const Expr e = lowering.element(v, index);
  return e->kind == ExprKind::load &&
         as_affine(linear_index(e->args, graph.value(source).memory_shape(), lowering.extents()));
}

}  // namespace

ValueId strided_source(const Graph& graph, ValueId v, bool on_host) {
  ValueId best = v;
  for (ValueId x = v;;) {
    const Value& value = graph.value(x);
    if (!value.producer.valid() || value.contents) break;
    const Node& n = graph.node(value.producer);
    if (!moves(n) || (n.op->kind != OpKind::view && n.on_host != on_host)) break;
    x = n.inputs[0];
    if (is_strided_view(graph, v, x)) best = x;
  }
  return best;
}

}  // namespace gcg
