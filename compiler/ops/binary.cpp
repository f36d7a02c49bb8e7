// Arithmetic, comparison, logic and bits over broadcast inputs.
#include <cmath>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

using Contents = std::optional<Dim> (*)(const std::vector<Dim>&);

/// Output 0 has the broadcast shape of all inputs.
template <Contents kContents>
void infer_arithmetic(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0), broadcast_inputs(ctx));
  if (kContents != nullptr) combine_contents(ctx, kContents);
}

template <Contents kContents>
void infer_comparison(InferContext& ctx) {
  ctx.set_output(0, DType::boolean, broadcast_inputs(ctx));
  combine_contents(ctx, kContents);
}

Expr operand(LowerContext& ctx, int i, const std::vector<Expr>& at) {
  return cast(arithmetic_dtype(ctx.input_value(i).dtype), ctx.broadcast_input(i, at));
}

template <BinaryOp kOp>
Expr lower_fold(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  Expr value = operand(ctx, 0, at);
  for (int i = 1; i < static_cast<int>(ctx.node().inputs.size()); ++i) value = binary(kOp, value, operand(ctx, i, at));
  return as_output(ctx, output, value);
}

/// Folds kFunction over all inputs in double, int64_t or uint64_t. A comparison's bool is stored as 0 or 1.
template <auto kFunction>
std::vector<Tensor> reference_fold(ReferenceContext& ctx) {
  Tensor y(ctx.output_dtype(0), broadcast_extents(ctx));
  std::vector<std::vector<int64_t>> offsets;
  for (int i = 0; i < ctx.input_count(); ++i) offsets.push_back(broadcast_offsets(ctx.input(i)->shape(), y.shape()));
  with_number_type(ctx.input(0)->dtype(), [&]<class T>() {
    for (size_t e = 0; e < static_cast<size_t>(y.elements()); ++e) {
      auto value = get<T>(*ctx.input(0), offsets[0][e]);
      const bool compares = std::is_same_v<decltype(kFunction(value, value)), bool>;
      for (int i = 1; i < ctx.input_count(); ++i)
        value = static_cast<T>(kFunction(value, get<T>(*ctx.input(i), offsets[static_cast<size_t>(i)][e])));
      if (compares)
        y.set_int(static_cast<int64_t>(e), value != T{0});
      else
        put<T>(y, static_cast<int64_t>(e), value);
    }
  });
  return {std::move(y)};
}

template <class T>
constexpr bool kFloating = std::is_same_v<T, double>;

constexpr auto kAdd = [](auto a, auto b) { return wrapping_add(a, b); };
constexpr auto kSub = [](auto a, auto b) {
  if constexpr (kFloating<decltype(a)>)
    return a - b;
  else
    return static_cast<decltype(a)>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
};
constexpr auto kMul = [](auto a, auto b) { return wrapping_mul(a, b); };
constexpr auto kDiv = [](auto a, auto b) -> decltype(a) {
  if constexpr (!kFloating<decltype(a)>) {
    if (b == 0) return 0;
    if (b == decltype(b)(-1) && std::is_signed_v<decltype(b)>) return wrapping_mul(a, b);
  }
  return a / b;
};
constexpr auto kMax = [](auto a, auto b) { return a != a || a > b ? a : b; };
constexpr auto kMin = [](auto a, auto b) { return a != a || a < b ? a : b; };
constexpr auto kAnd = [](auto a, auto b) -> decltype(a) { return a != 0 && b != 0; };
constexpr auto kOr = [](auto a, auto b) -> decltype(a) { return a != 0 || b != 0; };
constexpr auto kXor = [](auto a, auto b) -> decltype(a) { return (a != 0) != (b != 0); };
constexpr auto kEqual = [](auto a, auto b) -> bool { return a == b; };
constexpr auto kLess = [](auto a, auto b) -> bool { return a < b; };
constexpr auto kGreater = [](auto a, auto b) -> bool { return a > b; };
constexpr auto kLessOrEqual = [](auto a, auto b) -> bool { return a <= b; };
constexpr auto kGreaterOrEqual = [](auto a, auto b) -> bool { return a >= b; };
template <class F>
auto on_bits(auto a, auto b, F f) {
  // f is never called with floats.
  return static_cast<decltype(a)>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}
constexpr auto kBitAnd = [](auto a, auto b) { return on_bits(a, b, [](uint64_t x, uint64_t y) { return x & y; }); };
constexpr auto kBitOr = [](auto a, auto b) { return on_bits(a, b, [](uint64_t x, uint64_t y) { return x | y; }); };
constexpr auto kBitXor = [](auto a, auto b) { return on_bits(a, b, [](uint64_t x, uint64_t y) { return x ^ y; }); };

// ---- contents, one element at a time: v holds the operands' elements

using Operands = std::vector<Dim>;
template <Dim (*kFunction)(const Dim&, const Dim&)>
std::optional<Dim> fold_dims(const Operands& v) {
  Dim value = v[0];
  for (size_t i = 1; i < v.size(); ++i) value = kFunction(value, v[i]);
  return value;
}
Dim add(const Dim& a, const Dim& b) { return a + b; }
Dim sub(const Dim& a, const Dim& b) { return a - b; }
Dim mul(const Dim& a, const Dim& b) { return a * b; }
std::optional<Dim> quotient(const Operands& v) { return truncated_quotient(v[0], v[1]); }
std::optional<Dim> equal(const Operands& v) { return provably_equal(v[0], v[1]); }
std::optional<Dim> less(const Operands& v) { return provably_less(v[0], v[1]); }
std::optional<Dim> greater(const Operands& v) { return provably_less(v[1], v[0]); }
std::optional<Dim> negated(const std::optional<Dim>& truth) {
  return truth ? std::optional(Dim(1) - *truth) : std::nullopt;
}
std::optional<Dim> less_or_equal(const Operands& v) { return negated(provably_less(v[1], v[0])); }
std::optional<Dim> greater_or_equal(const Operands& v) { return negated(provably_less(v[0], v[1])); }
std::optional<Dim> both_true(const Operands& v) { return v[0] * v[1]; }
std::optional<Dim> either_true(const Operands& v) { return v[0] + v[1] - v[0] * v[1]; }
std::optional<Dim> one_true(const Operands& v) { return v[0] + v[1] - Dim(2) * v[0] * v[1]; }

template <BinaryOp kOp, auto kFunction, Contents kContents>
constexpr OpDef arithmetic(const char* name, int since, Types types) {
  return {.name = name,
          .since = since,
          .min_inputs = 2,
          .max_inputs = 2,
          .types = {types, Types::as_first},
          .kind = OpKind::pointwise,
          .upgrade = upgrade_broadcast,
          .infer = infer_arithmetic<kContents>,
          .lower = lower_fold<kOp>,
          .reference = reference_fold<kFunction>};
}

template <BinaryOp kOp, auto kFunction, Contents kContents>
constexpr OpDef variadic(const char* name, int since) {
  OpDef def = arithmetic<kOp, kFunction, kContents>(name, since, Types::numbers);
  def.min_inputs = 1;
  def.max_inputs = -1;
  return def;
}

template <BinaryOp kOp, auto kFunction, Contents kContents>
constexpr OpDef comparison(const char* name, int since, Types types) {
  return {.name = name,
          .since = since,
          .min_inputs = 2,
          .max_inputs = 2,
          .types = {types, Types::as_first},
          .results = {Types::booleans},
          .kind = OpKind::pointwise,
          .traits = {.narrow = Narrow::no},
          .upgrade = upgrade_broadcast,
          .infer = infer_comparison<kContents>,
          .lower = lower_fold<kOp>,
          .reference = reference_fold<kFunction>};
}

// ---- Mean

Expr lower_mean(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const auto count = static_cast<double>(ctx.node().inputs.size());
  Expr sum = operand(ctx, 0, at);
  for (int i = 1; i < static_cast<int>(ctx.node().inputs.size()); ++i) sum = sum + operand(ctx, i, at);
  return as_output(ctx, output, binary(BinaryOp::div, sum, constant_float(sum->dtype, count)));
}

std::vector<Tensor> reference_mean(ReferenceContext& ctx) {
  Tensor y(ctx.output_dtype(0), broadcast_extents(ctx));
  std::vector<double> sums(static_cast<size_t>(y.elements()), 0.0);
  for (int i = 0; i < ctx.input_count(); ++i) {
    const std::vector<int64_t> from = broadcast_offsets(ctx.input(i)->shape(), y.shape());
    for (size_t e = 0; e < sums.size(); ++e) sums[e] += ctx.input(i)->at_double(from[e]);
  }
  for (size_t e = 0; e < sums.size(); ++e) y.set_double(static_cast<int64_t>(e), sums[e] / ctx.input_count());
  return {std::move(y)};
}

// ---- Where

void infer_where(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(1), broadcast_inputs(ctx));
  combine_contents(ctx, [](const Operands& v) -> std::optional<Dim> {
    if (v[1] == v[2]) return v[1];
    if (v[0].is_constant()) return v[0].is(0) ? v[2] : v[1];
    return std::nullopt;
  });
}

Expr lower_where(LowerContext& ctx, int, const std::vector<Expr>& at) {
  return select(ctx.broadcast_input(0, at), ctx.broadcast_input(1, at), ctx.broadcast_input(2, at));
}

std::vector<Tensor> reference_where(ReferenceContext& ctx) {
  Tensor y(ctx.output_dtype(0), broadcast_extents(ctx));
  std::vector<std::vector<int64_t>> offsets;
  for (int i = 0; i < 3; ++i) offsets.push_back(broadcast_offsets(ctx.input(i)->shape(), y.shape()));
  for (size_t e = 0; e < static_cast<size_t>(y.elements()); ++e) {
    const int side = ctx.input(0)->at_int(offsets[0][e]) != 0 ? 1 : 2;
    const Tensor& from = *ctx.input(side);
    const int64_t i = offsets[static_cast<size_t>(side)][e];
    if (is_float(y.dtype()))
      y.set_double(static_cast<int64_t>(e), from.at_double(i));
    else
      y.set_int(static_cast<int64_t>(e), from.at_int(i));
  }
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_Add = arithmetic<BinaryOp::add, kAdd, fold_dims<add>>("Add", 1, Types::numbers);
constinit const OpDef op_Sub = arithmetic<BinaryOp::sub, kSub, fold_dims<sub>>("Sub", 1, Types::numbers);
constinit const OpDef op_Mul = arithmetic<BinaryOp::mul, kMul, fold_dims<mul>>("Mul", 1, Types::numbers);
constinit const OpDef op_Div = arithmetic<BinaryOp::div, kDiv, quotient>("Div", 1, Types::numbers);
constinit const OpDef op_And = arithmetic<BinaryOp::logical_and, kAnd, both_true>("And", 1, Types::booleans);
constinit const OpDef op_Or = arithmetic<BinaryOp::logical_or, kOr, either_true>("Or", 1, Types::booleans);
constinit const OpDef op_Xor = arithmetic<BinaryOp::logical_xor, kXor, one_true>("Xor", 1, Types::booleans);
constinit const OpDef op_BitwiseAnd =
    arithmetic<BinaryOp::bit_and, kBitAnd, nullptr>("BitwiseAnd", 18, Types::integers);
constinit const OpDef op_BitwiseOr = arithmetic<BinaryOp::bit_or, kBitOr, nullptr>("BitwiseOr", 18, Types::integers);
constinit const OpDef op_BitwiseXor =
    arithmetic<BinaryOp::bit_xor, kBitXor, nullptr>("BitwiseXor", 18, Types::integers);

constinit const OpDef op_Max = variadic<BinaryOp::max, kMax, fold_dims<max>>("Max", 1);
constinit const OpDef op_Min = variadic<BinaryOp::min, kMin, fold_dims<min>>("Min", 1);
constinit const OpDef op_Sum = variadic<BinaryOp::add, kAdd, nullptr>("Sum", 1);
constinit const OpDef op_Mean{.name = "Mean",
                              .since = 1,
                              .min_inputs = 1,
                              .max_inputs = -1,
                              .types = {Types::floats, Types::as_first},
                              .kind = OpKind::pointwise,
                              .infer = infer_arithmetic<nullptr>,
                              .lower = lower_mean,
                              .reference = reference_mean};

constinit const OpDef op_Equal = comparison<BinaryOp::equal, kEqual, equal>("Equal", 1, Types::numbers_and_bool);
constinit const OpDef op_Less = comparison<BinaryOp::less, kLess, less>("Less", 1, Types::numbers);
constinit const OpDef op_Greater = comparison<BinaryOp::greater, kGreater, greater>("Greater", 1, Types::numbers);
constinit const OpDef op_LessOrEqual =
    comparison<BinaryOp::less_equal, kLessOrEqual, less_or_equal>("LessOrEqual", 12, Types::numbers);
constinit const OpDef op_GreaterOrEqual =
    comparison<BinaryOp::greater_equal, kGreaterOrEqual, greater_or_equal>("GreaterOrEqual", 12, Types::numbers);

constinit const OpDef op_Where{.name = "Where",
                               .since = 9,
                               .min_inputs = 3,
                               .max_inputs = 3,
                               .types = {Types::booleans, Types::numbers_and_bool, Types::as_second},
                               .results = {Types::as_second},
                               .kind = OpKind::pointwise,
                               .infer = infer_where,
                               .lower = lower_where,
                               .reference = reference_where};

}  // namespace gcg
