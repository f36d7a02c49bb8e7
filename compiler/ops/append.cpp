// gart.Append: a state's rows, with a run's new rows appended or written over some of them.
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

enum : int { kState, kRows, kFirst };

/// The attribute `replaces` is an axis. Along it, the new rows of batch b replace those from kFirst[b] on (from 0 if
/// this input is missing). The extents stay, and all rows must lie within the state. Without the attribute, the node is
/// a Concat along axis 0.
bool replaces(const Node& node) { return node.has_attribute("replaces"); }

/// The result's memory already holds the rows of input 0, so a step writes those of input 1 only
/// (PlanMaker::write_in_place).
void infer_append(InferContext& ctx) {
  Shape shape = ctx.shape(kState);
  const Shape& rows = ctx.shape(kRows);
  if (rows.size() != shape.size() || shape.empty()) ctx.fail("the rows do not have the state's rank");
  const auto axis = static_cast<size_t>(ctx.axis(ctx.node().int_attribute("replaces", 0), ctx.rank(kState)));
  if (!replaces(ctx.node())) shape[0] = shape[0] + rows[0];
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != axis) shape[d] = ctx.require_equal(shape[d], rows[d], concat("dimension ", d));
  if (ctx.has_input(kFirst)) ctx.require_equal(product(ctx.shape(kFirst)), shape[0], "first rows and samples");
  ctx.set_output(0, ctx.dtype(kState), std::move(shape));
}

std::vector<Tensor> reference_append(ReferenceContext& ctx) {
  const Tensor &state = *ctx.input(kState), &rows = *ctx.input(kRows);
  const Tensor* first = ctx.input_count() > kFirst ? ctx.input(kFirst) : nullptr;
  const auto axis = static_cast<size_t>(wrap_axis(ctx.node().int_attribute("replaces", 0), state.rank()));
  std::vector<int64_t> shape = state.shape();
  if (!replaces(ctx.node())) shape[0] += rows.shape()[0];
  Tensor y(state.dtype(), shape);
  for (int64_t i = 0; i < state.elements(); ++i) copy_element(y, i, state, i);
  for_each_index(rows.shape(), [&, i = int64_t{0}](std::vector<int64_t> at) mutable {
    at[axis] += !replaces(ctx.node()) ? state.shape()[0] : first != nullptr ? first->at_int(at[0]) : 0;
    if (at[axis] < 0 || at[axis] >= shape[axis])
      fail_node(ctx.node(), concat("row ", at[axis], " is outside of the state's ", shape[axis]));
    copy_element(y, position(at, shape), rows, i++);
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_gart_Append{.name = "Append",
                                     .domain = "gart",
                                     .min_inputs = 2,
                                     .max_inputs = 3,
                                     .kind = OpKind::opaque,
                                     .infer = infer_append,
                                     .reference = reference_append};

}  // namespace gcg
