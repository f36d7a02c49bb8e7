// Reordering of dimensions, and of blocks between channels and pixels.
#include <algorithm>
#include <cstring>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/views.h"

namespace gcg {
namespace {

// ---- Transpose

std::vector<int64_t> permutation(const Node& node, int64_t rank) {
  std::vector<int64_t> perm = node.ints_attribute("perm");
  if (!node.has_attribute("perm"))
    for (int64_t d = rank; d-- > 0;) perm.push_back(d);
  return perm;
}

void infer_transpose(InferContext& ctx) {
  const std::vector<int64_t> perm = permutation(ctx.node(), ctx.rank(0));
  std::vector<bool> seen(ctx.shape(0).size(), false);
  if (perm.size() != seen.size())
    ctx.fail(concat("perm has ", perm.size(), " entries for ", seen.size(), " dimensions"));
  Shape shape;
  for (int64_t p : perm) {
    if (p < 0 || p >= ctx.rank(0) || seen[static_cast<size_t>(p)])
      ctx.fail(concat("perm is not a permutation: entry ", p));
    seen[static_cast<size_t>(p)] = true;
    shape.push_back(ctx.shape(0)[static_cast<size_t>(p)]);
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (perm.size() <= 1) keep_contents(ctx);
}

Expr lower_transpose(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const std::vector<int64_t> perm = permutation(ctx.node(), static_cast<int64_t>(at.size()));
  Index from(at.size());
  for (size_t d = 0; d < at.size(); ++d) from[static_cast<size_t>(perm[d])] = at[d];
  return ctx.input(0, from);
}

/// Transposes matrices by square tiles, which stay in the cache.
template <class Element>
void transpose_matrices(const Tensor& x, Tensor& y) {
  constexpr int64_t kTile = 32;
  const int64_t columns = x.shape().back(), rows = x.shape()[x.shape().size() - 2];
  const auto* from = reinterpret_cast<const Element*>(x.data());
  auto* to = reinterpret_cast<Element*>(y.mutable_data());
  for (const Element* end = from + x.elements(); from != end; from += rows * columns, to += rows * columns)
    for (int64_t top = 0; top < rows; top += kTile)
      for (int64_t left = 0; left < columns; left += kTile)
        for (int64_t j = left; j < std::min(left + kTile, columns); ++j)
          for (int64_t i = top; i < std::min(top + kTile, rows); ++i) to[j * rows + i] = from[i * columns + j];
}

/// True if only the last two dimensions change places.
bool swaps_last(const std::vector<int64_t>& perm) {
  const auto rank = static_cast<int64_t>(perm.size());
  for (int64_t d = 0; d < rank; ++d)
    if (perm[static_cast<size_t>(d)] != (d < rank - 2 ? d : 2 * rank - 3 - d)) return false;
  return rank >= 2;
}

/// Walks through the input by strides, because constant weights of many megabytes are transposed at compile time.
std::vector<Tensor> reference_transpose(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const std::vector<int64_t> perm = permutation(ctx.node(), x.rank()), strides = row_major_strides(x.shape());
  std::vector<int64_t> shape, step;
  for (int64_t p : perm) {
    shape.push_back(x.shape()[static_cast<size_t>(p)]);
    step.push_back(strides[static_cast<size_t>(p)]);
  }
  Tensor y(x.dtype(), shape);
  if (swaps_last(perm) && size_of(x.dtype()) == 4) return transpose_matrices<uint32_t>(x, y), std::vector{y};
  if (swaps_last(perm) && size_of(x.dtype()) == 2) return transpose_matrices<uint16_t>(x, y), std::vector{y};
  const auto size = static_cast<size_t>(size_of(x.dtype()));
  uint8_t* to = y.mutable_data();
  for_each_index(shape, [&](const std::vector<int64_t>& at) {
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); ++d) from += at[d] * step[d];
    std::memcpy(to, x.data() + static_cast<size_t>(from) * size, size);
    to += size;
  });
  return {y};
}

// ---- DepthToSpace and SpaceToDepth on [N, C, H, W]; b x b pixels <-> b*b channel groups

int64_t block_size(const InferContext& ctx) {
  const int64_t b = ctx.node().int_attribute("blocksize", 0);
  if (b < 1) ctx.fail(concat("blocksize is ", b, ", it must be at least 1"));
  if (ctx.rank(0) != 4) ctx.fail("the input must have 4 dimensions");
  return b;
}

Dim divided(InferContext& ctx, const Dim& extent, int64_t by, const char* what) {
  const Dim quotient = floor_div(extent, by);
  ctx.require_equal(quotient * Dim(by), extent, concat(what, " in parts of ", by));
  return quotient;
}

void infer_depth_to_space(InferContext& ctx) {
  const int64_t b = block_size(ctx);
  const std::string mode = ctx.node().string_attribute("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") ctx.fail(concat("mode is '", mode, "', it must be 'DCR' or 'CRD'"));
  const Shape& x = ctx.shape(0);
  ctx.set_output(0, ctx.dtype(0), {x[0], divided(ctx, x[1], b * b, "channels"), x[2] * Dim(b), x[3] * Dim(b)});
}

Expr remainder(const Expr& a, int64_t b) { return binary(BinaryOp::mod, a, index(b)); }
Expr quotient(const Expr& a, int64_t b) { return binary(BinaryOp::floor_div, a, index(b)); }

Expr lower_depth_to_space(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const int64_t b = ctx.node().int_attribute("blocksize", 1);
  const Expr block = remainder(at[2], b) * index(b) + remainder(at[3], b);
  const bool depth_first = ctx.node().string_attribute("mode", "DCR") == "DCR";
  const Expr channel = depth_first ? block * extent(ctx.output_shape(output)[1]) + at[1] : at[1] * index(b * b) + block;
  return ctx.input(0, {at[0], channel, quotient(at[2], b), quotient(at[3], b)});
}

std::vector<Tensor> reference_depth_to_space(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t b = ctx.node().int_attribute("blocksize", 1), channels = x.shape()[1] / (b * b);
  const bool depth_first = ctx.node().string_attribute("mode", "DCR") == "DCR";
  return {
      rearranged(x, {x.shape()[0], channels, x.shape()[2] * b, x.shape()[3] * b}, [&](const std::vector<int64_t>& at) {
        const int64_t i = at[2] % b, j = at[3] % b;
        const int64_t channel = depth_first ? (i * b + j) * channels + at[1] : (at[1] * b + i) * b + j;
        return std::vector<int64_t>{at[0], channel, at[2] / b, at[3] / b};
      })};
}

void infer_space_to_depth(InferContext& ctx) {
  const int64_t b = block_size(ctx);
  const Shape& x = ctx.shape(0);
  const Dim rows = divided(ctx, x[2], b, "rows"), columns = divided(ctx, x[3], b, "columns");
  ctx.set_output(0, ctx.dtype(0), {x[0], x[1] * Dim(b * b), rows, columns});
}

Expr lower_space_to_depth(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const int64_t b = ctx.node().int_attribute("blocksize", 1);
  const Expr channels = extent(ctx.input_shape(0)[1]);
  const Expr block = binary(BinaryOp::floor_div, at[1], channels), channel = binary(BinaryOp::mod, at[1], channels);
  return ctx.input(0, {at[0], channel, at[2] * index(b) + quotient(block, b), at[3] * index(b) + remainder(block, b)});
}

std::vector<Tensor> reference_space_to_depth(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t b = ctx.node().int_attribute("blocksize", 1), channels = x.shape()[1];
  return {rearranged(
      x, {x.shape()[0], channels * b * b, x.shape()[2] / b, x.shape()[3] / b}, [&](const std::vector<int64_t>& at) {
        const int64_t block = at[1] / channels;
        return std::vector<int64_t>{at[0], at[1] % channels, at[2] * b + block / b, at[3] * b + block % b};
      })};
}

}  // namespace

constinit const OpDef op_Transpose{.name = "Transpose",
                                   .since = 1,
                                   .min_inputs = 1,
                                   .max_inputs = 1,
                                   .kind = OpKind::movement,
                                   .traits = {.is_strided = true},
                                   .infer = infer_transpose,
                                   .lower = lower_transpose,
                                   .reference = reference_transpose};
constinit const OpDef op_DepthToSpace{.name = "DepthToSpace",
                                      .since = 1,
                                      .min_inputs = 1,
                                      .max_inputs = 1,
                                      .kind = OpKind::movement,
                                      .traits = {.keeps_channels = true},
                                      .infer = infer_depth_to_space,
                                      .lower = lower_depth_to_space,
                                      .reference = reference_depth_to_space};
constinit const OpDef op_SpaceToDepth{.name = "SpaceToDepth",
                                      .since = 1,
                                      .min_inputs = 1,
                                      .max_inputs = 1,
                                      .kind = OpKind::movement,
                                      .traits = {.keeps_channels = true},
                                      .infer = infer_space_to_depth,
                                      .lower = lower_space_to_depth,
                                      .reference = reference_space_to_depth};

}  // namespace gcg
