// Internal operators for NonZero and Compress (see expand_selection). gart.Positions finds the true elements by
// counting; gart.Unravel converts positions to indices.
#include "compiler/ops/index.h"
#include "compiler/ops/launches.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/program_builder.h"

namespace gcg {
namespace {

// ---- gart.Positions: running counts c[n] -> the positions [k] at which the count grows, k = c[n - 1]

void infer_positions(InferContext& ctx) {
  if (ctx.rank(0) != 1) ctx.fail("the counts must be a vector");
  ctx.set_output(0, DType::i64, {ctx.fresh_symbol("chosen")});
}

Expr chosen_extent(LowerContext& ctx, int) {
  const Dim& n = ctx.input_shape(0)[0];
  const Expr last = guarded(ctx.input(0, {extent(max(n - 1, 0))}));
  return select(binary(BinaryOp::greater, extent(n), index(0)), last, index(0));
}

/// Position j is the number of elements with a count of at most j.
Expr lower_positions(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Axis i = ctx.fresh_axis(ctx.input_shape(0)[0]);
  const Expr before = binary(BinaryOp::less_equal, ctx.input(0, {axis_ref(i)}), at[0]);
  return reduce(ReduceOp::sum, {i}, select(before, index(1), index(0)));
}

/// The element at i is true if the count there exceeds the number of elements found so far.
void program_positions(ProgramBuilder& p) {
  const Expr found = p.variable(index(0)), i = p.variable(index(0));
  const Expr more = binary(BinaryOp::logical_and, binary(BinaryOp::less, found, extent(p.output_shape(0)[0])),
                           binary(BinaryOp::less, i, extent(p.input_shape(0)[0])));
  p.loop_while(more, [&] {
    p.store(0, {found}, i);
    p.set(found, p.input(0, {i}));
    p.set(i, i + index(1));
  });
}

}  // namespace

/// Launches one thread for each element.
void launches_positions(ProgramBuilder& p) {
  p.launch({p.input_shape(0)[0]}, [&](const std::vector<Expr>& task) {
    const Expr here = p.let(p.input(0, {task[0]})), before = p.variable(index(0));
    p.branch(binary(BinaryOp::less, index(0), task[0]), [&] { p.set(before, p.input(0, {task[0] - index(1)})); });
    p.branch(binary(BinaryOp::less, before, here), [&] { p.store(0, {before}, task[0]); });
  });
}

namespace {

std::vector<Tensor> reference_positions(ReferenceContext& ctx) {
  const Tensor& counts = *ctx.input(0);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < counts.elements(); ++i)
    if (counts.at_int(i) != (i > 0 ? counts.at_int(i - 1) : 0)) found.push_back(i);
  return {Tensor::vector_i64(found)};
}

// ---- gart.Unravel: positions [k] in the shape of x -> indices [rank, k]

void infer_unravel(InferContext& ctx) { ctx.set_output(0, DType::i64, {Dim(ctx.rank(1)), ctx.shape(0)[0]}); }

Expr lower_unravel(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Index parts = delinearize(ctx.input(0, {at[1]}), ctx.input_shape(1));
  Expr part = index(0);
  for (size_t d = 0; d < parts.size(); ++d)
    part = select(binary(BinaryOp::equal, at[0], index(static_cast<int64_t>(d))), parts[d], part);
  return part;
}

std::vector<Tensor> reference_unravel(ReferenceContext& ctx) {
  const Tensor& positions = *ctx.input(0);
  const std::vector<int64_t>& shape = ctx.input(1)->shape();
  const auto rank = static_cast<int64_t>(shape.size()), count = positions.elements();
  Tensor y(DType::i64, {rank, count});
  for (int64_t k = 0; k < count; ++k) {
    int64_t rest = positions.at_int(k);
    for (int64_t d = rank; d-- > 0; rest /= shape[static_cast<size_t>(d)])
      y.set_int(d * count + k, rest % shape[static_cast<size_t>(d)]);
  }
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_gart_Positions{.name = "Positions",
                                        .domain = "gart",
                                        .min_inputs = 1,
                                        .max_inputs = 1,
                                        .kind = OpKind::reduction,
                                        .infer = infer_positions,
                                        .lower = lower_positions,
                                        .program = program_positions,
                                        .data_extent = chosen_extent,
                                        .reference = reference_positions};
constinit const OpDef op_gart_Unravel{.name = "Unravel",
                                      .domain = "gart",
                                      .min_inputs = 2,
                                      .max_inputs = 2,
                                      .kind = OpKind::movement,
                                      .infer = infer_unravel,
                                      .lower = lower_unravel,
                                      .reference = reference_unravel};

}  // namespace gcg
