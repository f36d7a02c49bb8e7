// gart.Append: a state's rows and the rows that a run appends to them.
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

/// As Concat along axis 0. The result's memory already holds the rows of input 0, so a step writes those of input 1
/// only (PlanMaker::append).
void infer_append(InferContext& ctx) {
  Shape shape = ctx.shape(0);
  const Shape& rows = ctx.shape(1);
  if (rows.size() != shape.size() || shape.empty()) ctx.fail("the rows do not have the state's rank");
  shape[0] = shape[0] + rows[0];
  for (size_t d = 1; d < shape.size(); ++d) shape[d] = ctx.require_equal(shape[d], rows[d], concat("dimension ", d));
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

std::vector<Tensor> reference_append(ReferenceContext& ctx) {
  const Tensor &state = *ctx.input(0), &rows = *ctx.input(1);
  std::vector<int64_t> shape = state.shape();
  shape[0] += rows.shape()[0];
  Tensor y(state.dtype(), shape);
  for (int64_t i = 0; i < state.elements(); ++i) copy_element(y, i, state, i);
  for (int64_t i = 0; i < rows.elements(); ++i) copy_element(y, state.elements() + i, rows, i);
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_gart_Append{.name = "Append",
                                     .domain = "gart",
                                     .min_inputs = 2,
                                     .max_inputs = 2,
                                     .kind = OpKind::opaque,
                                     .infer = infer_append,
                                     .reference = reference_append};

}  // namespace gcg
