// gart.BlockChannels and gart.UnblockChannels: between [N, C, H, W] and [N, ceil(C/16), H, W, 16].
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/packing.h"

namespace gcg {
namespace {

void infer_block_channels(InferContext& ctx) {
  if (ctx.rank(0) != 4) ctx.fail("the input must be [N, C, H, W]");
  const Shape& x = ctx.shape(0);
  ctx.set_output(0, ctx.dtype(0), {x[0], ceil_div(x[1], kChannelBlock), x[2], x[3], kChannelBlock});
}

/// Lanes past the last channel are zero here; no other operator promises that.
Expr lower_block_channels(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Dim& channels = ctx.input_shape(0)[1];
  const Expr c = at[1] * index(kChannelBlock) + at[4], last = extent(channels - 1);
  if (mod(channels, kChannelBlock).is(0)) return ctx.input(0, {at[0], c, at[2], at[3]});
  const Expr x = ctx.input(0, {at[0], binary(BinaryOp::min, c, last), at[2], at[3]});
  return select(binary(BinaryOp::less_equal, c, last), x, number(x->dtype, 0));
}

std::vector<Tensor> reference_block_channels(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t batch = x.shape()[0], channels = x.shape()[1], area = x.shape()[2] * x.shape()[3];
  const int64_t blocks = blocks_of(channels, kChannelBlock);
  Tensor y(x.dtype(), {batch, blocks, x.shape()[2], x.shape()[3], kChannelBlock});
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < area; ++i) {
        const int64_t to = ((n * blocks + c / kChannelBlock) * area + i) * kChannelBlock + c % kChannelBlock;
        y.set_double(to, x.at_double((n * channels + c) * area + i));
      }
    }
  }
  return {y};
}

void infer_unblock_channels(InferContext& ctx) {
  if (ctx.rank(0) != 5) ctx.fail("the input must be [N, blocks, H, W, 16]");
  const Shape& x = ctx.shape(0);
  const int64_t channels = ctx.node().int_attribute("channels", 0);
  if (!x[1].is(blocks_of(channels, kChannelBlock))) ctx.fail(concat(channels, " channels do not fill the blocks"));
  ctx.set_output(0, ctx.dtype(0), {x[0], channels, x[2], x[3]});
}

Expr lower_unblock_channels(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Expr block = index(kChannelBlock);
  return ctx.input(
      0, {at[0], binary(BinaryOp::floor_div, at[1], block), at[2], at[3], binary(BinaryOp::mod, at[1], block)});
}

std::vector<Tensor> reference_unblock_channels(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t batch = x.shape()[0], blocks = x.shape()[1], area = x.shape()[2] * x.shape()[3];
  const int64_t channels = ctx.node().int_attribute("channels", 0);
  Tensor y(x.dtype(), {batch, channels, x.shape()[2], x.shape()[3]});
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < area; ++i) {
        const int64_t from = ((n * blocks + c / kChannelBlock) * area + i) * kChannelBlock + c % kChannelBlock;
        y.set_double((n * channels + c) * area + i, x.at_double(from));
      }
    }
  }
  return {y};
}

}  // namespace

const OpDef op_gart_BlockChannels = {.name = "BlockChannels", .domain = "gart", .min_inputs = 1, .max_inputs = 1,
                                     .kind = OpKind::movement, .infer = infer_block_channels,
                                     .lower = lower_block_channels, .reference = reference_block_channels};
const OpDef op_gart_UnblockChannels = {.name = "UnblockChannels", .domain = "gart", .min_inputs = 1, .max_inputs = 1,
                                       .kind = OpKind::movement, .infer = infer_unblock_channels,
                                       .lower = lower_unblock_channels, .reference = reference_unblock_channels};

}  // namespace gcg
