// Fused attention.
#include "compiler/ops/op_def.h"
#include "compiler/schedule/group_lowering.h"
#include "compiler/support/error.h"

namespace gcg {

void GroupLowering::attention() {
  const Attention pattern = *find_attention(g_, group_.anchor, g_.users());
  const Node& first = g_.node(pattern.scores);
  const std::vector<Axis> axes = values_.axes_for(*value(anchor().outputs[0]).shape);
  AttentionKernel kernel;
  kernel.batch.assign(axes.begin(), axes.end() - 2);
  kernel.m = axes[axes.size() - 2];
  kernel.n = axes.back();
  kernel.t = values_.axes_for({value(anchor().inputs[0]).shape->back()})[0];
  kernel.d = values_.axes_for({value(first.inputs[0]).shape->back()})[0];
  all_extents_ = values_.extents();
  const auto operand = [&](NodeId product, int input, const Axis& row, const Axis& column) {
    const Shape& shape = *value(g_.node(product).inputs[static_cast<size_t>(input)]).shape;
    return strided(product, input, operand_index(shape, axes, row, column));
  };
  const Strided q = operand(pattern.scores, 0, kernel.m, kernel.d), k = operand(pattern.scores, 1, kernel.d, kernel.t),
                v = operand(group_.anchor, 1, kernel.t, kernel.n);
  attention_scores(kernel, pattern);
  kernel.epilogue = epilogue(axes);
  kernel.index = contraction_index(axes);
  take_operands();
  kernel.q.operand = add_operand(q);
  kernel.k.operand = add_operand(k);
  kernel.v.operand = add_operand(v);
  kernel.result = add_result(result_shape());
  FlatIndices flat(out_.kernel.operands, next_axis_);
  kernel.scores = flat.flatten(kernel.scores);
  if (kernel.kept) kernel.kept = flat.flatten(kernel.kept);
  kernel.epilogue = flat.flatten(kernel.epilogue);
  kernel.index = flat.flatten_store(kernel.result, kernel.index);
  std::erase_if(kernel.batch, [](const Axis& a) { return a.extent.is(1); });
  fill(kernel.q, q.form, kernel.batch, kernel.m, kernel.d);
  fill(kernel.k, k.form, kernel.batch, kernel.d, kernel.t);
  fill(kernel.v, v.form, kernel.batch, kernel.t, kernel.n);
  out_.kernel.body = std::move(kernel);
}

void GroupLowering::attention_scores(AttentionKernel& kernel, const Attention& pattern) {
  std::vector<Axis> point = kernel.batch;
  point.insert(point.end(), {kernel.m, kernel.t});
  const Shape& shape = *value(g_.node(pattern.scores).outputs[0]).shape;
  const auto at = [&](ValueId v) {
    return *value(v).shape == shape ? refs(point) : reshaped(refs(point), shape, *value(v).shape);
  };
  const ValueId scores = g_.node(pattern.softmax).inputs[0];
  values_.bind(g_.node(pattern.scores).outputs[0], accumulator(DType::f32));
  kernel.scores =
      scores == g_.node(pattern.scores).outputs[0] ? accumulator(DType::f32) : values_.computed(scores, at(scores));
  kernel.is_nan_zero = pattern.is_nan_zero;
  if (!pattern.kept.valid()) return;
  const Node& kept = g_.node(pattern.kept);
  values_.bind(kept.inputs[1], accumulator(DType::f32));
  const Expr choice = values_.computed(kept.outputs[0], at(kept.outputs[0]));
  GCG_CHECK(choice->kind == ExprKind::select, "'", kept.name, "' is no choice between values");
  kernel.kept = choice->args[0];
}

std::vector<Expr> GroupLowering::reshaped(const std::vector<Expr>& index_, const Shape& from, const Shape& to) const {
  Expr rest = linear_index(index_, from, all_extents_);
  std::vector<Expr> out(to.size());
  for (size_t d = to.size(); d-- > 0;) {
    out[d] = simplify_index(d == 0 ? rest : binary(BinaryOp::mod, rest, extent(to[d])), all_extents_);
    rest = simplify_index(binary(BinaryOp::floor_div, rest, extent(to[d])), all_extents_);
  }
  return out;
}

}  // namespace gcg
