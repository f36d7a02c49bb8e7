// ArgMax and ArgMin: the position of the extreme element along one axis.
#include <cmath>
#include <limits>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();

bool keeps_dims(const Node& node) { return node.int_attribute("keepdims", 1) != 0; }
bool selects_last(const Node& node) { return node.int_attribute("select_last_index", 0) != 0; }

void infer_arg_reduce(InferContext& ctx) {
  if (ctx.rank(0) == 0) ctx.fail("the input must have at least one dimension");
  const auto axis = static_cast<size_t>(ctx.axis(ctx.node().int_attribute("axis", 0), ctx.rank(0)));
  if (ctx.shape(0)[axis].is(0))
    ctx.fail(concat("dimension ", axis, " is empty, so it has no largest or smallest element"));
  Shape shape = ctx.shape(0);
  ctx.require_equal(max(shape[axis], 1), shape[axis], concat("dimension ", axis, " must not be empty"));
  if (keeps_dims(ctx.node()))
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  ctx.set_output(0, DType::i64, shape);
}

/// The least (or greatest) position of an element that equals the extreme, or of a NaN if there is one.
template <bool largest>
Expr lower_arg_reduce(LowerContext& ctx, int, const std::vector<Expr>& output_index) {
  const Shape& shape = ctx.input_shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  const auto axis = static_cast<size_t>(wrap_axis(ctx.node().int_attribute("axis", 0), rank));
  std::vector<Expr> at = output_index;
  if (!keeps_dims(ctx.node())) at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), index(0));
  std::vector<bool> swept(shape.size(), false);
  swept[axis] = true;
  const Sweep first = sweep(ctx, shape, swept, at), second = sweep(ctx, shape, swept, at);
  const Expr extreme =
      reduce(largest ? ReduceOp::max : ReduceOp::min, first.axes, arithmetic_input(ctx, 0, first.index));
  const Expr x = arithmetic_input(ctx, 0, second.index);
  Expr hit = binary(BinaryOp::equal, x, extreme);
  if (is_float(x->dtype)) hit = binary(BinaryOp::logical_or, hit, unary(UnaryOp::is_nan, x));
  const Expr position = axis_ref(second.axes[0]);
  if (selects_last(ctx.node())) return reduce(ReduceOp::max, second.axes, select(hit, position, index(-1)));
  return reduce(ReduceOp::min, second.axes, select(hit, position, index(kNowhere)));
}

template <bool largest, class T>
bool beats(T candidate, T best, bool last_wins) {
  if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(best)) return last_wins && std::isnan(candidate);
    if (std::isnan(candidate)) return true;
  }
  if (candidate == best) return last_wins;
  return largest ? candidate > best : candidate < best;
}

template <bool largest>
std::vector<Tensor> reference_arg_reduce(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const auto axis = static_cast<size_t>(wrap_axis(ctx.node().int_attribute("axis", 0), x.rank()));
  std::vector<int64_t> shape = x.shape();
  if (keeps_dims(ctx.node()))
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  std::vector<bool> swept(x.shape().size(), false);
  swept[axis] = true;
  const SplitOffsets offsets = split_offsets(x.shape(), swept);
  Tensor y(DType::i64, shape);
  with_number_type(x.dtype(), [&]<class T>() {
    for (size_t o = 0; o < offsets.outer.size(); ++o) {
      const auto at = [&](size_t i) { return get<T>(x, offsets.outer[o] + offsets.swept[i]); };
      size_t best = 0;
      for (size_t i = 1; i < offsets.swept.size(); ++i) {
        if (beats<largest>(at(i), at(best), selects_last(ctx.node()))) best = i;
      }
      y.set_int(static_cast<int64_t>(o), static_cast<int64_t>(best));
    }
  });
  return {y};
}

template <bool largest>
constexpr OpDef arg_reduce_op(const char* name) {
  return {.name = name,
          .since = 1,
          .min_inputs = 1,
          .max_inputs = 1,
          .types = {Types::numbers},
          .results = {Types::i64},
          .kind = OpKind::reduction,
          .infer = infer_arg_reduce,
          .lower = lower_arg_reduce<largest>,
          .reference = reference_arg_reduce<largest>};
}

}  // namespace

const OpDef op_ArgMax = arg_reduce_op<true>("ArgMax");
const OpDef op_ArgMin = arg_reduce_op<false>("ArgMin");

}  // namespace gcg
