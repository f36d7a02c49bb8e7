// Fused attention.
#include "compiler/kernel/flat_loops.h"
#include "compiler/lowering/group_lowering.h"
#include "compiler/ops/fused_attention.h"
#include "compiler/ops/op_support.h"

namespace gcg {

void GroupLowering::attention() {
  const auto shape_of = [&](int input) { return *value(anchor().inputs[static_cast<size_t>(input)]).shape; };
  const std::vector<Axis> axes = values_.axes_for(*value(anchor().outputs[0]).shape);
  AttentionKernel kernel;
  kernel.batch.assign(axes.begin(), axes.end() - 2);
  kernel.m = axes[axes.size() - 2];
  kernel.n = axes.back();
  kernel.t = values_.axes_for({shape_of(kFusedAttentionK).back()})[0];
  kernel.d = values_.axes_for({shape_of(kFusedAttentionQ).back()})[0];
  all_extents_ = values_.extents();
  const auto operand = [&](int input, const Axis& row, const Axis& column) {
    return strided(group_.anchor, input, operand_index(shape_of(input), axes, row, column));
  };
  const Strided q = operand(kFusedAttentionQ, kernel.m, kernel.d), k = operand(kFusedAttentionK, kernel.d, kernel.t),
                v = operand(kFusedAttentionV, kernel.t, kernel.n);
  attention_scores(kernel);
  kernel.epilogue = epilogue(axes);
  kernel.index = contraction_index(axes);
  take_operands();
  kernel.q.operand = add_operand(q);
  kernel.k.operand = add_operand(k);
  kernel.v.operand = add_operand(v);
  kernel.result = add_result(result_shape());
  FlatIndices flat(out_.kernel.operands);
  kernel.scores = flat.flatten(kernel.scores);
  if (kernel.row_mask) kernel.row_mask = flat.flatten(kernel.row_mask);
  kernel.epilogue = flat.flatten(kernel.epilogue);
  kernel.index = flat.flatten_store(kernel.result, kernel.index);
  std::erase_if(kernel.batch, [](const Axis& a) { return a.extent.is(1); });
  fill(kernel.q, q.affine, kernel.batch, kernel.m, kernel.d);
  fill(kernel.k, k.affine, kernel.batch, kernel.d, kernel.t);
  fill(kernel.v, v.affine, kernel.batch, kernel.t, kernel.n);
  out_.kernel.body = std::move(kernel);
}

void GroupLowering::attention_scores(AttentionKernel& kernel) {
  const Graph& body = *anchor().bodies[0];
  std::vector<Axis> point = kernel.batch;
  point.insert(point.end(), {kernel.m, kernel.t});
  const Shape &shape = *body.value(body.inputs[0]).shape, &changed = *body.value(body.outputs[0]).shape;
  const std::vector<Expr> at = shape == changed ? refs(point) : reshaped(refs(point), shape, changed);

  ValueLowering inside(body, [](ValueId) { return ValueId(); });
  inside.bind(body.inputs[0], accumulator(DType::f32));
  const size_t own = anchor().inputs.size() - static_cast<size_t>(anchor().captures);
  for (size_t i = 1; i < body.inputs.size(); ++i)
    inside.bind(body.inputs[i], [this, outer = anchor().inputs[own + i - 1]](const std::vector<Expr>& index) {
      return values_.element(outer, index);
    });
  values_.compute_bands(f_.computes_masks);
  inside.compute_bands(f_.computes_masks);
  kernel.scores = inside.element(body.outputs[0], at);
  values_.compute_bands(false);
  kernel.is_nan_zero = anchor().int_attribute(kNanToZeroAttribute, 0) != 0;
  if (const ValueId row_mask = anchor().inputs[kFusedAttentionKept]; row_mask.valid())
    kernel.row_mask = values_.element(row_mask, broadcast_index(*value(row_mask).shape, at));
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
