// CumSum: running sums along one axis.
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

bool is_exclusive(const Node& node) { return node.int_attribute("exclusive", 0) != 0; }
bool is_reverse(const Node& node) { return node.int_attribute("reverse", 0) != 0; }

void infer_cumsum(InferContext& ctx) {
  const auto axis = ctx.int_contents(1);
  if (!axis || axis->size() != 1) ctx.fail("the axis must be one number known at compile time");
  if (ctx.rank(0) == 0) ctx.fail("the input must have at least one dimension");
  ctx.axis((*axis)[0], ctx.rank(0));
  if (ctx.dtype(0) == DType::boolean) ctx.fail("bool elements cannot be summed");
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

/// Each element sums its own part of the axis: quadratic work, but every element on its own. Elements outside of the
/// part are selected away, so that an infinity does not reach back.
Expr lower_cumsum(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto rank = static_cast<int64_t>(at.size());
  const auto axis = static_cast<size_t>(wrap_axis(known_ints(ctx.input_value(1))->at(0), rank));
  std::vector<bool> swept(at.size(), false);
  swept[axis] = true;
  const Sweep row = sweep(ctx, ctx.input_shape(0), swept, at);
  const Expr i = row.index[axis], x = arithmetic_input(ctx, 0, row.index);
  const bool exclusive = is_exclusive(ctx.node()), reverse = is_reverse(ctx.node());
  const BinaryOp part = reverse ? (exclusive ? BinaryOp::greater : BinaryOp::greater_equal)
                                : (exclusive ? BinaryOp::less : BinaryOp::less_equal);
  return as_output(ctx, 0, reduce(ReduceOp::sum, row.axes, select(binary(part, i, at[axis]), x, number(x->dtype, 0))));
}

std::vector<Tensor> reference_cumsum(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor y(x.dtype(), x.shape());
  std::vector<bool> swept(x.shape().size(), false);
  swept[static_cast<size_t>(wrap_axis(ctx.input(1)->at_int(0), x.rank()))] = true;
  SplitOffsets offsets = split_offsets(x.shape(), swept);
  if (is_reverse(ctx.node())) offsets.swept = {offsets.swept.rbegin(), offsets.swept.rend()};
  with_number_type(x.dtype(), [&]<class T>() {
    for (int64_t start : offsets.kept) {
      T sum{};
      for (int64_t i : offsets.swept) {
        const T next = wrapping_add(sum, get<T>(x, start + i));
        put<T>(y, start + i, is_exclusive(ctx.node()) ? sum : next);
        sum = next;
      }
    }
  });
  return {y};
}

}  // namespace

const OpDef op_CumSum = {.name = "CumSum", .since = 11, .min_inputs = 2, .max_inputs = 2, .kind = OpKind::reduction,
                         .infer = infer_cumsum, .lower = lower_cumsum, .reference = reference_cumsum};

}  // namespace gcg
