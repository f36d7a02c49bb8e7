// MaxUnpool: moves the elements of x to `indices`, row-major positions in the result; the rest is zero. It undoes the
// MaxPool that gave both. expand_max_unpool rewrites it as a ScatterElements.
#include "compiler/ops/max_unpool.h"

#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

enum : int { kX, kIndices, kOutputShape };

void infer_max_unpool(InferContext& ctx) {
  const Shape& x = ctx.shape(kX);
  const UnpoolParams params(ctx.node(), x.size());
  if (ctx.shape(kIndices).size() != x.size()) ctx.fail("X and the indices must have the same shape");
  for (size_t d = 0; d < x.size(); ++d) ctx.require_equal(ctx.shape(kIndices)[d], x[d], "extents of X and the indices");
  Shape y = {x[0], x[1]};
  for (size_t d = 2; d < x.size(); ++d) y.push_back(x[d] * params.strides[d - 2] + params.added(d - 2));
  if (ctx.has_input(kOutputShape)) {
    if (ctx.rank(kOutputShape) != 1) ctx.fail("output_shape must be a vector");
    ctx.require_equal(ctx.shape(kOutputShape)[0], static_cast<int64_t>(x.size()), "elements of output_shape");
    const auto requested_shape = ctx.contents(kOutputShape);
    for (size_t d = 0; d < x.size(); ++d) {
      const auto missing = requested_shape ? ((*requested_shape)[d] - y[d]).upper_bound() : std::nullopt;
      if (missing && *missing < 0)
        ctx.fail(concat("output_shape is ", (*requested_shape)[d].str(), " at dimension ", d, ", the least is ",
                        y[d].str()));
      y[d] = requested_shape ? (*requested_shape)[d] : ctx.fresh_symbol("unpooled");
    }
  }
  ctx.set_output(0, ctx.dtype(kX), std::move(y));
}

std::vector<Tensor> reference_max_unpool(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(kX), &indices = *ctx.input(kIndices);
  const UnpoolParams params(ctx.node(), x.shape().size());
  std::vector<int64_t> shape = x.shape();
  for (size_t d = 2; d < shape.size(); ++d) shape[d] = shape[d] * params.strides[d - 2] + params.added(d - 2);
  Tensor y(x.dtype(), ctx.input_count() > kOutputShape ? ctx.input(kOutputShape)->to_ints() : shape);
  const std::vector<int64_t> strides = row_major_strides(shape);
  for (int64_t i = 0; i < x.elements(); ++i) {
    int64_t place = indices.at_int(i);
    if (place < 0 || place >= element_count(shape))
      fail_node(ctx.node(), concat("index ", place, " out of range [0, ", element_count(shape), ")"));
    std::vector<int64_t> at;
    for (int64_t stride : strides) {
      at.push_back(place / stride);
      place %= stride;
    }
    copy_element(y, position(at, y.shape()), x, i);
  }
  return {std::move(y)};
}

}  // namespace

UnpoolParams::UnpoolParams(const Node& node, size_t rank)
    : kernel(node.ints_attribute("kernel_shape")),
      strides(node.ints_attribute("strides")),
      pads(node.ints_attribute("pads")) {
  if (strides.empty()) strides.assign(kernel.size(), 1);
  if (pads.empty()) pads.assign(2 * kernel.size(), 0);
  if (rank < 3 || kernel.size() != rank - 2 || strides.size() != kernel.size() || pads.size() != 2 * kernel.size())
    fail_node(node, concat("an input of rank ", rank, " does not go with ", kernel.size(), " kernel extents, ",
                           strides.size(), " strides and ", pads.size(), " pads"));
  for (size_t d = 0; d < kernel.size(); ++d)
    if (kernel[d] < 1 || strides[d] < 1) fail_node(node, "kernel_shape and strides must be at least 1");
}

constinit const OpDef op_MaxUnpool{.name = "MaxUnpool",
                                   .since = 9,
                                   .min_inputs = 2,
                                   .max_inputs = 3,
                                   .types = {Types::floats, Types::integers},
                                   .kind = OpKind::opaque,
                                   .infer = infer_max_unpool,
                                   .reference = reference_max_unpool};

}  // namespace gcg
