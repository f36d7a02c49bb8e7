// gart.BlockChannels and gart.UnblockChannels: convert between [N, C, spatial...] and [N, ceil(C/16), spatial..., 16].
#include "compiler/kernel/packing.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

void infer_block_channels(InferContext& ctx) {
  if (ctx.rank(0) < 3) ctx.fail("the input must have at least one spatial dimension");
  Shape y = ctx.shape(0);
  y[1] = ceil_div(y[1], kChannelBlock);
  y.push_back(kChannelBlock);
  ctx.set_output(0, ctx.dtype(0), y);
}

/// Sets lanes past the last channel to zero. Other operators leave them undefined.
Expr lower_block_channels(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Dim& channels = ctx.input_shape(0)[1];
  const Expr c = at[1] * index(kChannelBlock) + at.back(), last = extent(channels - 1);
  std::vector<Expr> from(at.begin(), at.end() - 1);
  from[1] = c;
  if (mod(channels, kChannelBlock).is(0)) return ctx.input(0, from);
  from[1] = binary(BinaryOp::min, c, last);
  const Expr x = ctx.input(0, from);
  return select(binary(BinaryOp::less_equal, c, last), x, number(x->dtype, 0));
}

int64_t area_of(const std::vector<int64_t>& shape, size_t end) {
  int64_t area = 1;
  for (size_t d = 2; d < end; ++d) area *= shape[d];
  return area;
}

std::vector<Tensor> reference_block_channels(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t batch = x.shape()[0], channels = x.shape()[1], area = area_of(x.shape(), x.shape().size());
  const int64_t blocks = blocks_of(channels, kChannelBlock);
  std::vector<int64_t> shape = x.shape();
  shape[1] = blocks;
  shape.push_back(kChannelBlock);
  Tensor y(x.dtype(), shape);
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
  if (ctx.rank(0) < 4) ctx.fail("the input must be [N, blocks, spatial..., 16]");
  Shape y = ctx.shape(0);
  const int64_t channels = ctx.node().int_attribute("channels", 0);
  if (!y[1].is(blocks_of(channels, kChannelBlock))) ctx.fail(concat(channels, " channels do not fill the blocks"));
  y[1] = channels;
  y.pop_back();
  ctx.set_output(0, ctx.dtype(0), y);
}

Expr lower_unblock_channels(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Expr block = index(kChannelBlock);
  std::vector<Expr> from = at;
  from[1] = binary(BinaryOp::floor_div, at[1], block);
  from.push_back(binary(BinaryOp::mod, at[1], block));
  return ctx.input(0, from);
}

std::vector<Tensor> reference_unblock_channels(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t batch = x.shape()[0], blocks = x.shape()[1], area = area_of(x.shape(), x.shape().size() - 1);
  const int64_t channels = ctx.node().int_attribute("channels", 0);
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end() - 1);
  shape[1] = channels;
  Tensor y(x.dtype(), shape);
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

const OpDef op_gart_BlockChannels = {.name = "BlockChannels",
                                     .domain = "gart",
                                     .min_inputs = 1,
                                     .max_inputs = 1,
                                     .kind = OpKind::movement,
                                     .infer = infer_block_channels,
                                     .lower = lower_block_channels,
                                     .reference = reference_block_channels};
const OpDef op_gart_UnblockChannels = {.name = "UnblockChannels",
                                       .domain = "gart",
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .kind = OpKind::movement,
                                       .infer = infer_unblock_channels,
                                       .lower = lower_unblock_channels,
                                       .reference = reference_unblock_channels};

}  // namespace gcg
