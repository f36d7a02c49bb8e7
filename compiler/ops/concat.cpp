// Concat and Split: joining along an axis, and its inverse.
#include <cstring>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

// ---- Concat

void infer_concat(InferContext& ctx) {
  const int64_t rank = ctx.rank(0);
  if (!ctx.node().has_attribute("axis")) ctx.fail("attribute axis is missing");
  const auto axis = static_cast<size_t>(ctx.axis(ctx.node().int_attribute("axis", 0), rank));
  Shape shape = ctx.shape(0);
  for (int i = 1; i < ctx.input_count(); ++i) {
    if (ctx.rank(i) != rank) ctx.fail(concat("input ", i, " has rank ", ctx.rank(i), ", input 0 has ", rank));
    for (size_t d = 0; d < shape.size(); ++d)
      shape[d] = d == axis ? shape[d] + ctx.shape(i)[d]
                           : ctx.require_equal(shape[d], ctx.shape(i)[d], concat("dimension ", d));
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (rank != 1) return;
  std::vector<Dim> contents;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const auto part = ctx.contents(i);
    if (!part) return;
    contents.insert(contents.end(), part->begin(), part->end());
  }
  ctx.set_contents(0, std::move(contents));
}

Expr lower_concat(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto axis =
      static_cast<size_t>(wrap_axis(ctx.node().int_attribute("axis", 0), static_cast<int64_t>(at.size())));
  std::vector<int> parts;
  std::vector<Dim> starts;
  Dim next = 0;
  for (int i = 0; i < static_cast<int>(ctx.node().inputs.size()); ++i) {
    if (ctx.input_shape(i)[axis].is(0)) continue;
    parts.push_back(i);
    starts.push_back(next);
    next = next + ctx.input_shape(i)[axis];
  }
  if (parts.size() == 1) return ctx.input(parts[0], at);
  Expr value;
  for (size_t p = parts.size(); p-- > 0;) {
    Index from = at;
    from[axis] = at[axis] - extent(starts[p]);
    const Expr part = guarded(ctx.input(parts[p], from));  // the index may be out of range if another part is selected
    value = value ? select(binary(BinaryOp::less, at[axis], extent(starts[p + 1])), part, value) : part;
  }
  return value ? value : number(ctx.output_value(0).dtype, 0);  // nothing to join, so no element is ever read
}

std::vector<Tensor> reference_concat(ReferenceContext& ctx) {
  std::vector<int64_t> shape = ctx.input(0)->shape();
  const auto axis = static_cast<size_t>(wrap_axis(ctx.node().int_attribute("axis", 0), ctx.input(0)->rank()));
  for (int i = 1; i < ctx.input_count(); ++i) shape[axis] += ctx.input(i)->shape()[axis];
  Tensor y(ctx.input(0)->dtype(), shape);
  int64_t inner = size_of(y.dtype());  // bytes
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  const int64_t row = shape[axis] * inner, rows = row == 0 ? 0 : y.bytes() / row;
  int64_t start = 0;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const int64_t part = ctx.input(i)->shape()[axis] * inner;
    for (int64_t r = 0; r < rows && part > 0; ++r)
      std::memcpy(y.mutable_data() + r * row + start, ctx.input(i)->data() + r * part, static_cast<size_t>(part));
    start += part;
  }
  return {std::move(y)};
}

// ---- Split: sizes are an attribute before opset 13; num_outputs exists since opset 18

void upgrade_split(UpgradeContext& ctx) {
  if (ctx.version < 13) ctx.attribute_to_input("split", 1);
}

/// Equal parts. With num_outputs the last part may be smaller; without it the extent must divide evenly.
std::vector<Dim> equal_parts(InferContext& ctx, const Dim& extent) {
  const int64_t count = ctx.output_count();
  if (!ctx.node().has_attribute("num_outputs")) {
    const Dim part = floor_div(extent, count);
    ctx.require_equal(part * Dim(count), extent, concat("the split extent in ", count, " equal parts"));
    return std::vector<Dim>(static_cast<size_t>(count), part);
  }
  const int64_t declared = ctx.node().int_attribute("num_outputs", count);
  if (declared != count) ctx.fail(concat("num_outputs is ", declared, ", but the node has ", count, " outputs"));
  const Dim part = ceil_div(extent, count);
  std::vector<Dim> parts(static_cast<size_t>(count), part);
  parts.back() = extent - part * Dim(count - 1);
  if (parts.back().upper_bound().value_or(0) < 0)
    ctx.fail(concat("an extent of ", extent.str(), " has no ", count, " parts of ", part.str()));
  if (parts.back().lower_bound().value_or(-1) < 0)
    ctx.require_equal(max(parts.back(), 0), parts.back(),
                      concat("the last of ", count, " parts, which is the rest of ", extent.str()));
  return parts;
}

std::vector<Dim> split_sizes(InferContext& ctx, const Dim& extent) {
  if (!ctx.has_input(1)) return equal_parts(ctx, extent);
  if (const auto sizes = ctx.contents(1)) {
    if (static_cast<int>(sizes->size()) != ctx.output_count())
      ctx.fail(concat(sizes->size(), " split sizes for ", ctx.output_count(), " outputs"));
    Dim total = 0;
    for (const Dim& s : *sizes) total = total + s;
    ctx.require_equal(total, extent, "the sum of the split sizes");
    return *sizes;
  }
  std::vector<Dim> sizes;
  Dim total = 0;
  for (int i = 0; i < ctx.output_count(); ++i) {
    sizes.push_back(ctx.fresh_symbol("split"));
    total = total + sizes.back();
  }
  ctx.require_equal(total, extent, "the sum of the split sizes");
  return sizes;
}

Expr split_extent(LowerContext& ctx, int symbol) { return integer_input(ctx, 1, {index(symbol)}); }

void infer_split(InferContext& ctx) {
  const auto axis = static_cast<size_t>(ctx.axis(ctx.node().int_attribute("axis", 0), ctx.rank(0)));
  const std::vector<Dim> sizes = split_sizes(ctx, ctx.shape(0)[axis]);
  const auto contents = ctx.rank(0) == 1 && is_static(sizes) ? ctx.contents(0) : std::nullopt;
  std::ptrdiff_t start = 0;
  for (int i = 0; i < ctx.output_count(); ++i) {
    Shape shape = ctx.shape(0);
    shape[axis] = sizes[static_cast<size_t>(i)];
    ctx.set_output(i, ctx.dtype(0), shape);
    if (!contents) continue;
    const auto first = contents->begin() + start;
    start += shape[axis].constant();
    ctx.set_contents(i, {first, contents->begin() + start});
  }
}

/// The start of output `output`: the sum of the sizes before it.
Expr split_start(LowerContext& ctx, int output, const Dim& extent_of_axis) {
  const auto before = static_cast<int64_t>(output);
  if (!ctx.has_input(1)) {
    const auto count = static_cast<int64_t>(ctx.node().outputs.size());
    const bool uneven = ctx.node().has_attribute("num_outputs");
    return extent((uneven ? ceil_div(extent_of_axis, count) : floor_div(extent_of_axis, count)) * Dim(before));
  }
  const auto sizes = known_dims(ctx.input_value(1));
  Expr start = index(0);
  for (int64_t i = 0; i < before; ++i)
    start = start + (sizes ? extent((*sizes)[static_cast<size_t>(i)]) : integer_input(ctx, 1, {index(i)}));
  return start;
}

Expr lower_split(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const auto axis =
      static_cast<size_t>(wrap_axis(ctx.node().int_attribute("axis", 0), static_cast<int64_t>(at.size())));
  Index from = at;
  from[axis] = at[axis] + split_start(ctx, output, ctx.input_shape(0)[axis]);
  return ctx.input(0, from);
}

std::vector<Tensor> reference_split(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const auto axis = static_cast<size_t>(wrap_axis(ctx.node().int_attribute("axis", 0), x.rank()));
  const int64_t count = ctx.output_count(), extent = x.shape()[axis], part = (extent + count - 1) / count;
  std::vector<Tensor> outputs;
  int64_t start = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> shape = x.shape();
    shape[axis] = ctx.input(1) ? ctx.input(1)->at_int(i) : std::min(part, extent - start);
    outputs.push_back(rearranged(x, shape, [&](std::vector<int64_t> at) {
      at[axis] += start;
      return at;
    }));
    start += shape[axis];
  }
  return outputs;
}

}  // namespace

constinit const OpDef op_Concat{.name = "Concat",
                                .since = 4,
                                .min_inputs = 1,
                                .max_inputs = -1,
                                .types = {Types::any, Types::as_first},
                                .kind = OpKind::movement,
                                .traits = {.keeps_channels = true},
                                .infer = infer_concat,
                                .lower = lower_concat,
                                .reference = reference_concat};
constinit const OpDef op_Split{
    .name = "Split",
    .since = 2,
    .min_inputs = 1,
    .max_inputs = 2,
    .max_outputs = -1,
    .types = {Types::any, Types::integers},
    .kind = OpKind::movement,
    .traits = {.cost = Cost::cheap, .keeps_channels = true, .is_strided = true, .data_inputs = 1},
    .upgrade = upgrade_split,
    .infer = infer_split,
    .lower = lower_split,
    .data_extent = split_extent,
    .reference = reference_split};

}  // namespace gcg
