// TensorScatter: writes a block of rows into the cache of each batch, from that batch's own position on. 'circular'
// wraps to the front at the end.
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

enum : int { kCache, kUpdate, kStart };

bool is_circular(const Node& node) { return node.string_attribute("mode", "linear") == "circular"; }
int64_t axis_of(const Node& node, int64_t rank) { return wrap_axis(node.int_attribute("axis", -2), rank); }

void infer_tensor_scatter(InferContext& ctx) {
  const std::string mode = ctx.node().string_attribute("mode", "linear");
  if (mode != "linear" && mode != "circular")
    ctx.fail(concat("attribute mode is '", mode, "', it must be 'linear' or 'circular'"));
  if (ctx.rank(kCache) != ctx.rank(kUpdate)) ctx.fail("cache and update must have the same number of dimensions");
  const auto axis = static_cast<size_t>(ctx.axis(ctx.node().int_attribute("axis", -2), ctx.rank(kCache)));
  if (axis == 0) ctx.fail("axis 0 is the batch");
  for (size_t d = 0; d < ctx.shape(kCache).size(); ++d)
    if (d != axis) ctx.require_equal(ctx.shape(kUpdate)[d], ctx.shape(kCache)[d], concat("dimension ", d));
  if (ctx.has_input(kStart))
    ctx.require_equal(product(ctx.shape(kStart)), ctx.shape(kCache)[0], "write_indices and batch");
  ctx.set_output(0, ctx.dtype(kCache), ctx.shape(kCache));
}

Expr lower_tensor_scatter(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto axis = static_cast<size_t>(axis_of(ctx.node(), static_cast<int64_t>(at.size())));
  Index from = at;
  if (ctx.has_input(kStart)) from[axis] = at[axis] - cast(DType::i64, ctx.input(kStart, {at[0]}));
  if (is_circular(ctx.node())) from[axis] = binary(BinaryOp::mod, from[axis], extent(ctx.input_shape(kCache)[axis]));
  const Expr written = in_range(from[axis], 0, ctx.input_shape(kUpdate)[axis]);
  return select(written, guarded(ctx.input(kUpdate, from)), ctx.input(kCache, at));
}

std::vector<Tensor> reference_tensor_scatter(ReferenceContext& ctx) {
  const Tensor &cache = *ctx.input(kCache), &update = *ctx.input(kUpdate);
  const Tensor* start = ctx.input_count() > kStart ? ctx.input(kStart) : nullptr;
  const auto axis = static_cast<size_t>(axis_of(ctx.node(), cache.rank()));
  Tensor y(cache.dtype(), cache.shape());
  for (int64_t i = 0; i < y.elements(); ++i) copy_element(y, i, cache, i);
  for_each_index(update.shape(), [&, i = int64_t{0}](std::vector<int64_t> at) mutable {
    at[axis] += start ? start->at_int(at[0]) : 0;
    if (is_circular(ctx.node())) at[axis] %= cache.shape()[axis];
    if (at[axis] < cache.shape()[axis]) copy_element(y, position(at, y.shape()), update, i);
    ++i;
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_TensorScatter{.name = "TensorScatter",
                                       .since = 24,
                                       .min_inputs = 2,
                                       .max_inputs = 3,
                                       .types = {Types::any, Types::as_first, Types::integers},
                                       .kind = OpKind::movement,
                                       .infer = infer_tensor_scatter,
                                       .lower = lower_tensor_scatter,
                                       .reference = reference_tensor_scatter};

}  // namespace gcg
