// gart.LookUp(table[256], x): for each byte of x, the table's element at the index that the byte's bits give. It
// replaces any chain of functions of one byte.
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

void infer_look_up(InferContext& ctx) {
  if (ctx.shape(0) != Shape{256} || size_of(ctx.dtype(0)) != 1) ctx.fail("the table must be of 256 bytes");
  if (ctx.dtype(1) != DType::u8 && ctx.dtype(1) != DType::i8) ctx.fail("x must be of bytes");
  ctx.set_output(0, ctx.dtype(0), ctx.shape(1));
}

Expr lower_look_up(LowerContext& ctx, int, const std::vector<Expr>& at) {
  return ctx.input(0, {cast(DType::i64, cast(DType::u8, ctx.input(1, at)))});
}

std::vector<Tensor> reference_look_up(ReferenceContext& ctx) {
  const Tensor &table = *ctx.input(0), &x = *ctx.input(1);
  Tensor y(table.dtype(), x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) y.mutable_data()[i] = table.data()[x.data()[i]];
  return {y};
}

}  // namespace

constinit const OpDef op_gart_LookUp{.name = "LookUp",
                                     .domain = "gart",
                                     .min_inputs = 2,
                                     .max_inputs = 2,
                                     .kind = OpKind::movement,
                                     .traits = {.data_inputs = 1},
                                     .infer = infer_look_up,
                                     .lower = lower_look_up,
                                     .reference = reference_look_up};

}  // namespace gcg
