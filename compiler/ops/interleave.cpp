// gart.Interleave: interleaves tensors along several axes.
//   Inputs: one per phase. The phases of the `axes` are numbered in row-major order, with `steps[k]` along axes[k].
//   y[..., i, ...] = (input of phase i mod steps[k] along axes[k])[..., i / steps[k], ...]
#include "compiler/ops/interleave.h"

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {

Interleaving interleaving_of(const Node& node) {
  Interleaving all;
  for (int64_t axis : node.ints_attribute("axes")) all.axes.push_back(static_cast<size_t>(axis));
  all.steps = node.ints_attribute("steps");
  return all;
}

int64_t Interleaving::phases() const {
  int64_t count = 1;
  for (int64_t step : steps) count *= step;
  return count;
}

std::vector<int64_t> Interleaving::offsets(int64_t phase) const {
  std::vector<int64_t> offsets(steps.size());
  for (size_t k = steps.size(); k-- > 0; phase /= steps[k]) offsets[k] = phase % steps[k];
  return offsets;
}

namespace {

void infer_interleave(InferContext& ctx) {
  const Interleaving weave = interleaving_of(ctx.node());
  if (ctx.input_count() != weave.phases())
    ctx.fail(concat(ctx.input_count(), " inputs for ", weave.phases(), " phases"));
  for (int i = 1; i < ctx.input_count(); ++i)
    if (ctx.dtype(i) != ctx.dtype(0) || ctx.rank(i) != ctx.rank(0))
      ctx.fail(concat("input ", i, " differs from input 0"));
  Shape shape = ctx.shape(0);
  // The phases along axis k that come first on all other axes give the extent.
  for (size_t k = 0; k < weave.axes.size(); ++k) {
    int64_t inner = 1;
    for (size_t other = k + 1; other < weave.axes.size(); ++other) inner *= weave.steps[other];
    Dim extent = 0;
    for (int64_t p = 0; p < weave.steps[k]; ++p)
      extent = extent + ctx.shape(static_cast<int>(p * inner))[weave.axes[k]];
    shape[weave.axes[k]] = extent;
  }
  for (int i = 0; i < ctx.input_count(); ++i) {
    Shape expected = shape;
    const std::vector<int64_t> at = weave.offsets(i);
    for (size_t k = 0; k < at.size(); ++k)
      expected[weave.axes[k]] = ceil_div(shape[weave.axes[k]] - at[k], weave.steps[k]);
    for (size_t d = 0; d < shape.size(); ++d) ctx.require_equal(ctx.shape(i)[d], expected[d], concat("dimension ", d));
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

Expr lower_interleave(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Interleaving weave = interleaving_of(ctx.node());
  Index from = at;
  Expr phase = index(0);
  for (size_t k = 0; k < weave.axes.size(); ++k) {
    const Expr step = index(weave.steps[k]);
    from[weave.axes[k]] = binary(BinaryOp::floor_div, at[weave.axes[k]], step);
    phase = phase * step + binary(BinaryOp::mod, at[weave.axes[k]], step);
  }
  Expr value;
  for (int64_t p = weave.phases(); p-- > 0;) {
    const Expr part = guarded(ctx.input(static_cast<int>(p), from));
    value = value ? select(binary(BinaryOp::less_equal, phase, index(p)), part, value) : part;
  }
  return value;
}

std::vector<Tensor> reference_interleave(ReferenceContext& ctx) {
  const Interleaving weave = interleaving_of(ctx.node());
  std::vector<int64_t> shape = ctx.input(0)->shape();
  // The phases along axis k that come first on all other axes give the extent.
  for (size_t k = 0; k < weave.axes.size(); ++k) {
    int64_t inner = 1, extent = 0;
    for (size_t other = k + 1; other < weave.axes.size(); ++other) inner *= weave.steps[other];
    for (int64_t p = 0; p < weave.steps[k]; ++p)
      extent += ctx.input(static_cast<int>(p * inner))->shape()[weave.axes[k]];
    shape[weave.axes[k]] = extent;
  }
  Tensor y(ctx.input(0)->dtype(), shape);
  for (int64_t p = 0; p < weave.phases(); ++p) {
    const Tensor& x = *ctx.input(static_cast<int>(p));
    const std::vector<int64_t> offsets = weave.offsets(p);
    int64_t from = 0;
    for_each_index(x.shape(), [&](std::vector<int64_t> at) {
      for (size_t k = 0; k < offsets.size(); ++k) at[weave.axes[k]] = at[weave.axes[k]] * weave.steps[k] + offsets[k];
      copy_element(y, position(at, shape), x, from++);
    });
  }
  return {std::move(y)};
}

}  // namespace

const OpDef op_gart_Interleave = {.name = "Interleave",
                                  .domain = "gart",
                                  .min_inputs = 1,
                                  .max_inputs = -1,
                                  .kind = OpKind::movement,
                                  .traits = {.keeps_channels = true},
                                  .infer = infer_interleave,
                                  .lower = lower_interleave,
                                  .reference = reference_interleave};

}  // namespace gcg
