// MaxRoiPool: cuts regions out of x[N, C, H, W] and takes the largest element of every cell. A region is a row (batch,
// x1, y1, x2, y2). Its corners are rounded to elements, and both corners belong to it.
#include <cmath>

#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/sampling.h"

namespace gcg {
namespace {

enum : int { kX, kRois };

std::vector<int64_t> pooled_shape(const Node& node) {
  const std::vector<int64_t> shape = node.ints_attribute("pooled_shape");
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) fail_node(node, "pooled_shape must be two positive numbers");
  return shape;
}

void infer_max_roi_pool(InferContext& ctx) {
  const std::vector<int64_t> out = pooled_shape(ctx.node());
  if (ctx.rank(kX) != 4 || ctx.rank(kRois) != 2) ctx.fail("the inputs must be X [N, C, H, W] and rois [R, 5]");
  ctx.require_equal(ctx.shape(kRois)[1], 5, "columns of rois");
  for (const char* side : {"cell_height", "cell_width"}) ctx.fresh_symbol(side);
  ctx.set_output(0, ctx.dtype(kX), {ctx.shape(kRois)[0], ctx.shape(kX)[1], out[0], out[1]});
}

/// The elements [begin, end) that a cell covers along one side. Side 0 is the height, side 1 the width.
struct Cell {
  Expr begin, end;
};

Cell cell_at(LowerContext& ctx, const Expr& roi, const Expr& cell, int side) {
  const double scale = ctx.node().float_attribute("spatial_scale", 1);
  const double cells = static_cast<double>(pooled_shape(ctx.node())[static_cast<size_t>(side)]);
  const auto corner = [&](int64_t column) {  // corners at half an element are rounded away from zero
    const Expr at = arithmetic_input(ctx, kRois, {roi, index(column)});
    const Expr scaled = at * number(at->dtype, scale);
    return unary(UnaryOp::sign, scaled) * unary(UnaryOp::floor, unary(UnaryOp::abs, scaled) + number(at->dtype, 0.5));
  };
  const Expr start = corner(2 - side), one = number(start->dtype, 1);
  const Expr size = binary(BinaryOp::max, corner(4 - side) - start + one, one);
  const Expr step = binary(BinaryOp::div, size, number(size->dtype, cells)), i = cast(size->dtype, cell);
  const Dim& extent_of_x = ctx.input_shape(kX)[static_cast<size_t>(side + 2)];
  const auto clamped = [&](const Expr& at) {
    return binary(BinaryOp::max, binary(BinaryOp::min, cast(DType::i64, at + start), extent(extent_of_x)), index(0));
  };
  return {clamped(unary(UnaryOp::floor, i * step)), clamped(unary(UnaryOp::ceil, (i + one) * step))};
}

/// The largest number of elements along one side that a cell of any region covers.
Expr largest_cell(LowerContext& ctx, int symbol) {
  const Axis roi = ctx.fresh_axis(ctx.input_shape(kRois)[0]),
             cell = ctx.fresh_axis(pooled_shape(ctx.node())[static_cast<size_t>(symbol)]);
  const Cell c = cell_at(ctx, axis_ref(roi), axis_ref(cell), symbol);
  return binary(BinaryOp::max, reduce(ReduceOp::max, {roi, cell}, c.end - c.begin), index(0));
}

Expr lower_max_roi_pool(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const Shape& x = ctx.input_shape(kX);
  const std::vector<std::string> symbols = ctx.node().strings_attribute(kSymbolsAttribute);
  Index from = {clamp_index(cast(DType::i64, ctx.input(kRois, {at[0], index(0)})), x[0]), at[1]};
  std::vector<Axis> axes;
  Expr taken, empty;
  for (size_t s = 0; s < 2; ++s) {
    const Cell c = cell_at(ctx, at[0], at[s + 2], static_cast<int>(s));
    axes.push_back(ctx.fresh_axis(Dim::symbol(symbols.at(s))));
    const Expr position = c.begin + axis_ref(axes.back()), none = binary(BinaryOp::greater_equal, c.begin, c.end);
    taken = both(taken, binary(BinaryOp::less, position, c.end));
    empty = empty ? binary(BinaryOp::logical_or, empty, none) : none;
    from.push_back(clamp_index(position, x[s + 2]));
  }
  const Expr v = arithmetic_input(ctx, kX, from);
  const Expr most = reduce(ReduceOp::max, axes, select(taken, v, reduce_identity(ReduceOp::max, v->dtype)));
  return unless_empty(x, guarded(as_output(ctx, output, select(empty, number(v->dtype, 0), most))));
}

std::vector<Tensor> reference_max_roi_pool(ReferenceContext& ctx) {
  const std::vector<int64_t> out = pooled_shape(ctx.node());
  const double scale = ctx.node().float_attribute("spatial_scale", 1);
  const Tensor &x = *ctx.input(kX), &rois = *ctx.input(kRois);
  const std::vector<int64_t> shape = {rois.shape()[0], x.shape()[1], out[0], out[1]};
  Tensor y(x.dtype(), shape);
  for_each_index(shape, [&, o = int64_t{0}](const std::vector<int64_t>& at) mutable {
    int64_t begin[2], end[2];
    for (int s = 0; s < 2; ++s) {
      const double start = std::round(rois.at_double(at[0] * 5 + 2 - s) * scale),
                   size = std::fmax(std::round(rois.at_double(at[0] * 5 + 4 - s) * scale) - start + 1, 1);
      const auto i = static_cast<size_t>(s + 2);
      const double step = size / static_cast<double>(out[static_cast<size_t>(s)]), cell = static_cast<double>(at[i]);
      const auto clamped = [&](double v) {
        return std::clamp<int64_t>(static_cast<int64_t>(v + start), 0, x.shape()[i]);
      };
      begin[s] = clamped(std::floor(cell * step));
      end[s] = clamped(std::ceil((cell + 1) * step));
    }
    const int64_t plane = static_cast<int64_t>(rois.at_double(at[0] * 5)) * x.shape()[1] + at[1];
    double most = begin[0] < end[0] && begin[1] < end[1] ? -std::numeric_limits<double>::infinity() : 0;
    for (int64_t i = begin[0]; i < end[0]; ++i)
      for (int64_t j = begin[1]; j < end[1]; ++j)
        most = std::fmax(most, x.at_double((plane * x.shape()[2] + i) * x.shape()[3] + j));
    y.set_double(o++, most);
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_MaxRoiPool{.name = "MaxRoiPool",
                                    .since = 1,
                                    .min_inputs = 2,
                                    .max_inputs = 2,
                                    .types = {Types::floats, Types::as_first},
                                    .kind = OpKind::reduction,
                                    .infer = infer_max_roi_pool,
                                    .lower = lower_max_roi_pool,
                                    .data_extent = largest_cell,
                                    .reference = reference_max_roi_pool};

}  // namespace gcg
