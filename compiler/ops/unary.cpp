// Elementwise mathematics of one input: rounding, roots, exponentials, trigonometry, predicates and complements.
#include <cmath>
#include <limits>

#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

template <double (*kFunction)(double)>
double apply(const Node&, double x) {
  return kFunction(x);
}

double reciprocal(double x) { return 1 / x; }

constexpr auto kAbs = [](const Node&, auto x) -> decltype(x) {
  if constexpr (std::is_same_v<decltype(x), double>)
    return std::fabs(x);
  else if constexpr (std::is_same_v<decltype(x), int64_t>)
    return x < 0 ? wrapping_mul<int64_t>(x, -1) : x;
  else
    return x;
};
constexpr auto kNeg = [](const Node&, auto x) -> decltype(x) {
  if constexpr (std::is_same_v<decltype(x), double>)
    return -x;
  else
    return static_cast<decltype(x)>(-static_cast<uint64_t>(x));
};
constexpr auto kSign = [](const Node&, auto x) -> decltype(x) {
  if (x != x) return x;  // NaN
  return static_cast<decltype(x)>((x > 0) - (x < 0));
};

template <Types kTypes, UnaryOp kOp, auto kFunction>
constexpr OpDef number_unary(const char* name, int since, void (*infer)(InferContext&), Traits traits = {}) {
  return {.name = name,
          .since = since,
          .min_inputs = 1,
          .max_inputs = 1,
          .types = {kTypes},
          .kind = OpKind::pointwise,
          .traits = traits,
          .infer = infer,
          .lower = lower_unary<build_unary<kOp>>,
          .reference = reference_number<kFunction>};
}

/// Nullopt for the least number of 64 bits, which has no negative.
std::optional<Dim> negated(const Dim& d) {
  if (d.is(std::numeric_limits<int64_t>::min())) return std::nullopt;
  return Dim(0) - d;
}

void infer_abs(InferContext& ctx) {
  infer_like_input(ctx);
  map_contents(ctx, 0, [](const Dim& d) { return negated(d) ? std::optional(max(d, *negated(d))) : std::nullopt; });
}

void infer_neg(InferContext& ctx) {
  infer_like_input(ctx);
  map_contents(ctx, 0, negated);
}

void infer_predicate(InferContext& ctx) { ctx.set_output(0, DType::boolean, ctx.shape(0)); }

void infer_not(InferContext& ctx) {
  infer_like_input(ctx);
  map_contents(ctx, 0, [](const Dim& d) -> std::optional<Dim> { return Dim(1) - d; });
}

template <auto kPredicate>
std::vector<Tensor> reference_predicate(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor y(DType::boolean, x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) y.set_int(i, kPredicate(ctx.node(), x.at_double(i)));
  return {std::move(y)};
}

Expr build_is_inf(const Node& node, const Expr& x) {
  const bool negative = node.int_attribute("detect_negative", 1) != 0,
             positive = node.int_attribute("detect_positive", 1) != 0;
  if (negative && positive) return unary(UnaryOp::is_inf, x);
  if (!negative && !positive) return boolean(false);
  return binary(BinaryOp::equal, x, constant_float(x->dtype, positive ? HUGE_VAL : -HUGE_VAL));
}

bool is_inf(const Node& node, double x) {
  return std::isinf(x) && node.int_attribute(x > 0 ? "detect_positive" : "detect_negative", 1) != 0;
}

constexpr auto kIsNan = [](const Node&, double x) { return std::isnan(x); };
constexpr auto kNot = [](const Node&, auto x) { return static_cast<decltype(x)>(x == 0); };
constexpr auto kBitNot = [](const Node&, auto x) {
  return static_cast<decltype(x)>(~static_cast<int64_t>(x));  // f is never called with floats
};

}  // namespace

constinit const OpDef op_Abs = number_unary<Types::numbers, UnaryOp::abs, kAbs>("Abs", 1, infer_abs);
constinit const OpDef op_Neg = number_unary<Types::signed_numbers, UnaryOp::neg, kNeg>("Neg", 1, infer_neg);
constinit const OpDef op_Sign =
    number_unary<Types::numbers, UnaryOp::sign, kSign>("Sign", 9, infer_like_input, {.magnitude = Magnitude::bounded});
constinit const OpDef op_Not =
    number_unary<Types::booleans, UnaryOp::logical_not, kNot>("Not", 1, infer_not, {.cost = Cost::cheap});
constinit const OpDef op_BitwiseNot =
    number_unary<Types::integers, UnaryOp::bit_not, kBitNot>("BitwiseNot", 18, infer_like_input);

constinit const OpDef op_Sqrt = float_unary<UnaryOp::sqrt, apply<std::sqrt>>("Sqrt", 1, {.narrow = Narrow::reads});
constinit const OpDef op_Exp =
    float_unary<UnaryOp::exp, apply<std::exp>>("Exp", 1, {.cost = Cost::expensive, .narrow = Narrow::reads});
constinit const OpDef op_Log = float_unary<UnaryOp::log, apply<std::log>>("Log", 1, {.cost = Cost::expensive});
constinit const OpDef op_Erf =
    float_unary<UnaryOp::erf, apply<std::erf>>("Erf", 9, {.cost = Cost::expensive, .magnitude = Magnitude::bounded});
constinit const OpDef op_Reciprocal =
    float_unary<UnaryOp::reciprocal, apply<reciprocal>>("Reciprocal", 1, {.narrow = Narrow::reads});
constinit const OpDef op_Floor = float_unary<UnaryOp::floor, apply<std::floor>>("Floor", 1, {.narrow = Narrow::no});
constinit const OpDef op_Ceil = float_unary<UnaryOp::ceil, apply<std::ceil>>("Ceil", 1, {.narrow = Narrow::no});
constinit const OpDef op_Round =
    float_unary<UnaryOp::round_even, apply<std::nearbyint>>("Round", 11, {.narrow = Narrow::no});
constinit const OpDef op_Sin = float_unary<UnaryOp::sin, apply<std::sin>>(
    "Sin", 7, {.cost = Cost::expensive, .narrow = Narrow::no, .magnitude = Magnitude::bounded});
constinit const OpDef op_Cos = float_unary<UnaryOp::cos, apply<std::cos>>(
    "Cos", 7, {.cost = Cost::expensive, .narrow = Narrow::no, .magnitude = Magnitude::bounded});
constinit const OpDef op_Tan =
    float_unary<UnaryOp::tan, apply<std::tan>>("Tan", 7, {.cost = Cost::expensive, .narrow = Narrow::no});
constinit const OpDef op_Asin =
    float_unary<UnaryOp::asin, apply<std::asin>>("Asin", 7, {.cost = Cost::expensive, .magnitude = Magnitude::bounded});
constinit const OpDef op_Acos =
    float_unary<UnaryOp::acos, apply<std::acos>>("Acos", 7, {.cost = Cost::expensive, .magnitude = Magnitude::bounded});
constinit const OpDef op_Atan =
    float_unary<UnaryOp::atan, apply<std::atan>>("Atan", 7, {.cost = Cost::expensive, .magnitude = Magnitude::bounded});
constinit const OpDef op_Sinh =
    float_unary<UnaryOp::sinh, apply<std::sinh>>("Sinh", 9, {.cost = Cost::expensive, .narrow = Narrow::reads});
constinit const OpDef op_Cosh =
    float_unary<UnaryOp::cosh, apply<std::cosh>>("Cosh", 9, {.cost = Cost::expensive, .narrow = Narrow::reads});
constinit const OpDef op_Asinh = float_unary<UnaryOp::asinh, apply<std::asinh>>("Asinh", 9, {.cost = Cost::expensive});
constinit const OpDef op_Acosh = float_unary<UnaryOp::acosh, apply<std::acosh>>("Acosh", 9, {.cost = Cost::expensive});
constinit const OpDef op_Atanh = float_unary<UnaryOp::atanh, apply<std::atanh>>("Atanh", 9, {.cost = Cost::expensive});

constinit const OpDef op_IsNaN{.name = "IsNaN",
                               .since = 9,
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .types = {Types::floats},
                               .results = {Types::booleans},
                               .kind = OpKind::pointwise,
                               .traits = {.narrow = Narrow::no},
                               .infer = infer_predicate,
                               .lower = lower_unary<build_unary<UnaryOp::is_nan>>,
                               .reference = reference_predicate<kIsNan>};
constinit const OpDef op_IsInf{.name = "IsInf",
                               .since = 10,
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .types = {Types::floats},
                               .results = {Types::booleans},
                               .kind = OpKind::pointwise,
                               .traits = {.narrow = Narrow::no},
                               .infer = infer_predicate,
                               .lower = lower_unary<build_is_inf>,
                               .reference = reference_predicate<is_inf>};

}  // namespace gcg
