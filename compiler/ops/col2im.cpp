// Col2Im: x[N, C * product(block), L] holds one column per block position. Every element of the image is the sum of the
// column elements that cover it.
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

enum : int { kX, kImage, kBlock };

struct Windows {
  std::vector<int64_t> stride, dilation, pad;  // pad: before
  std::vector<int64_t> pad_after;
};

Windows windows_of(const Node& node, size_t dims) {
  const std::vector<int64_t> ones(dims, 1), pads = node.ints_attribute("pads", std::vector<int64_t>(2 * dims, 0));
  if (pads.size() != 2 * dims) fail_node(node, concat(pads.size(), " pads for ", dims, " dimensions"));
  Windows w{node.ints_attribute("strides", ones), node.ints_attribute("dilations", ones), {}, {}};
  if (w.stride.size() != dims || w.dilation.size() != dims)
    fail_node(node, concat("strides and dilations must have ", dims, " elements"));
  for (size_t d = 0; d < dims; ++d)
    if (w.stride[d] < 1 || w.dilation[d] < 1) fail_node(node, "strides and dilations must be at least 1");
  w.pad.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dims));
  w.pad_after.assign(pads.begin() + static_cast<std::ptrdiff_t>(dims), pads.end());
  return w;
}

/// The number of blocks along a dimension.
Dim blocks_along(const Windows& w, size_t d, const Dim& image, const Dim& block) {
  const Dim reach = image + w.pad[d] + w.pad_after[d] - Dim(w.dilation[d]) * (block - 1) - 1;
  return floor_div(reach, w.stride[d]) + 1;
}

/// Adds symbols for the image's extents and, if the block depends on data, further symbols for the block's extents.
void infer_col2im(InferContext& ctx) {
  if (ctx.rank(kX) != 3) ctx.fail("the input must be [N, C * block, L]");
  if (ctx.rank(kImage) != 1 || ctx.rank(kBlock) != 1 || !ctx.shape(kImage)[0].is_constant())
    ctx.fail("the shapes of image and block must be vectors of known length");
  const auto dims = static_cast<size_t>(ctx.shape(kImage)[0].constant());
  ctx.require_equal(ctx.shape(kBlock)[0], ctx.shape(kImage)[0], "dimensions of image and block");
  const Windows w = windows_of(ctx.node(), dims);
  const auto image = ctx.contents(kImage), block = ctx.contents(kBlock);
  Shape shape = {ctx.shape(kX)[0], 0}, extents;
  for (size_t d = 0; d < dims; ++d) shape.push_back(image ? (*image)[d] : ctx.fresh_symbol("image"));
  for (size_t d = 0; d < dims; ++d) extents.push_back(block ? (*block)[d] : ctx.fresh_symbol("block"));
  shape[1] = floor_div(ctx.shape(kX)[1], product(extents));
  ctx.require_equal(shape[1] * product(extents), ctx.shape(kX)[1], "channels times elements of a block");
  Dim blocks = 1;
  for (size_t d = 0; d < dims; ++d) blocks = blocks * blocks_along(w, d, shape[d + 2], extents[d]);
  ctx.require_equal(blocks, ctx.shape(kX)[2], "blocks of the image");
  ctx.set_output(0, ctx.dtype(kX), std::move(shape));
}

Expr image_extent(LowerContext& ctx, int symbol) {
  const int64_t dims = ctx.input_shape(kImage)[0].constant();
  const bool image = !known_dims(ctx.input_value(kImage)) && symbol < dims;
  const bool both_open = !known_dims(ctx.input_value(kImage));
  return image ? integer_input(ctx, kImage, {index(symbol)})
               : integer_input(ctx, kBlock, {index(both_open ? symbol - dims : symbol)});
}

Shape block_of(const LowerContext& ctx, size_t dims) {
  if (const auto known = known_dims(ctx.input_value(kBlock))) return *known;
  const std::vector<std::string> symbols = ctx.node().strings_attribute(kSymbolsAttribute);
  Shape block;
  for (size_t d = 0; d < dims; ++d) block.push_back(Dim::symbol(symbols.at(symbols.size() - dims + d)));
  return block;
}

Expr lower_col2im(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const Shape& y = ctx.output_shape(output);
  const size_t dims = y.size() - 2;
  const Windows w = windows_of(ctx.node(), dims);
  const Shape block = block_of(ctx, dims);
  std::vector<Axis> axes;
  Expr row = at[1], column = index(0), covered = boolean(true);
  for (size_t d = 0; d < dims; ++d) {
    axes.push_back(ctx.fresh_axis(block[d]));
    const Expr k = axis_ref(axes.back());
    const Dim count = blocks_along(w, d, y[d + 2], block[d]);
    const Expr start = at[d + 2] + index(w.pad[d]) - k * index(w.dilation[d]);  // the block's number times the stride
    const Expr number = w.stride[d] == 1 ? start : binary(BinaryOp::floor_div, start, index(w.stride[d]));
    covered = both(covered, in_range(number, 0, count));
    if (w.stride[d] != 1) covered = both(covered, binary(BinaryOp::equal, number * index(w.stride[d]), start));
    row = row * extent(block[d]) + k;
    column = column * extent(count) + number;
  }
  const Expr x = guarded(arithmetic_input(ctx, kX, {at[0], row, column}));
  return as_output(ctx, output, reduce(ReduceOp::sum, axes, select(covered, x, number(x->dtype, 0))));
}

std::vector<Tensor> reference_col2im(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(kX);
  const std::vector<int64_t> image = ctx.input(kImage)->to_ints(), block = ctx.input(kBlock)->to_ints();
  const size_t dims = image.size();
  const Windows w = windows_of(ctx.node(), dims);
  std::vector<int64_t> counts, shape = {x.shape()[0], x.shape()[1] / element_count(block)};
  for (size_t d = 0; d < dims; ++d)
    counts.push_back((image[d] + w.pad[d] + w.pad_after[d] - w.dilation[d] * (block[d] - 1) - 1) / w.stride[d] + 1);
  if (element_count(counts) != x.shape()[2])
    fail_node(ctx.node(), concat("the image has ", element_count(counts), " blocks, the input ", x.shape()[2]));
  shape.insert(shape.end(), image.begin(), image.end());
  Tensor y(x.dtype(), shape);
  with_number_type(x.dtype(), [&]<class T>() {
    int64_t i = 0;
    for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane)
      for_each_index(block, [&](const std::vector<int64_t>& inner) {
        for_each_index(counts, [&](const std::vector<int64_t>& number) {
          const T element = get<T>(x, i++);
          int64_t to = plane;
          for (size_t d = 0; d < dims; ++d) {
            const int64_t at = number[d] * w.stride[d] - w.pad[d] + inner[d] * w.dilation[d];
            if (at < 0 || at >= image[d]) return;
            to = to * image[d] + at;
          }
          put<T>(y, to, wrapping_add(get<T>(y, to), element));
        });
      });
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_Col2Im{.name = "Col2Im",
                                .since = 18,
                                .min_inputs = 3,
                                .max_inputs = 3,
                                .types = {Types::numbers, Types::integers},
                                .kind = OpKind::reduction,
                                .infer = infer_col2im,
                                .lower = lower_col2im,
                                .data_extent = image_extent,
                                .reference = reference_col2im};

}  // namespace gcg
