#include "compiler/lowering/operand_view.h"

#include <algorithm>

#include "compiler/kernel/flat_loops.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

/// True if the node only moves elements, to places that do not depend on data.
bool moves(const Graph& graph, const Node& n) {
  return n.op->is_strided() && graph.value(n.outputs[0]).dtype == graph.value(n.inputs[0]).dtype &&
         std::all_of(n.inputs.begin() + 1, n.inputs.end(),
                     [&](ValueId v) { return !v.valid() || graph.value(v).is_constant() || graph.value(v).contents; });
}

bool is_strided_view(const Graph& graph, ValueId v, ValueId source, bool whole_rows) {
  ValueLowering lowering(graph, [&](ValueId x) { return x == source ? source : ValueId(); });
  const auto axes = lowering.axes_for(*graph.value(v).shape);
  std::vector<Expr> index;
  for (const Axis& a : axes) index.push_back(axis_ref(a));
  const auto place = place_in(graph, lowering, v, source, index);
  if (!place) return false;
  const auto affine = as_affine(linear_index(*place, graph.value(source).memory_shape(), lowering.extents()));
  if (!affine || !whole_rows || broadcasts(axes.back().extent)) return affine.has_value();
  const auto last = affine->strides.find(axes.back().id);
  return last != affine->strides.end() && last->second.is(1);
}

}  // namespace

std::optional<std::vector<Expr>> place_in(const Graph& graph, ValueLowering& lowering, ValueId v, ValueId source,
                                          const std::vector<Expr>& index) {
  Expr e = lowering.element(v, index);
  const bool widens = graph.value(source).stored != DType::undefined && e->kind == ExprKind::cast;
  if (widens) e = e->args[0];
  if (e->kind != ExprKind::load) return {};
  return e->args;
}

ValueId strided_source(const Graph& graph, ValueId v, const std::function<bool(NodeId)>& is_seen_through,
                       bool whole_rows) {
  ValueId best = v;
  for (ValueId x = v;;) {
    const Value& value = graph.value(x);
    if (!value.producer.valid() || value.contents) break;
    const Node& n = graph.node(value.producer);
    if (!moves(graph, n) || !is_seen_through(value.producer)) break;
    x = n.inputs[0];
    if (is_strided_view(graph, v, x, whole_rows)) best = x;
  }
  return best;
}

}  // namespace gcg
