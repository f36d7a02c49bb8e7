// Activation functions of neural networks, and Clip.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/kernel/library_activation.h"
#include "compiler/ops/broadcast.h"
#include "compiler/ops/float_range.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

Expr literal(const Expr& like, double value) { return constant_float(like->dtype, value); }
Expr maximum(const Expr& a, const Expr& b) { return binary(BinaryOp::max, a, b); }
Expr minimum(const Expr& a, const Expr& b) { return binary(BinaryOp::min, a, b); }
Expr zero(const Expr& like) { return number(like->dtype, 0); }
Expr less(const Expr& a, const Expr& b) { return binary(BinaryOp::less, a, b); }

/// log(1 + e) for e in [0, 1]. u = 1 + e is rounded. The part of e that u has lost is multiplied by 2 - u, which
/// approximates 1 / u, and added.
Expr log1p(const Expr& e) {
  const Expr u = literal(e, 1) + e, lost = e - (u - literal(e, 1));
  return unary(UnaryOp::log, u) + lost * (literal(e, 2) - u);
}

/// max(x, 0) + log(1 + exp(-|x|)): no overflow for large x.
Expr softplus(const Expr& x) {
  return maximum(x, zero(x)) + log1p(unary(UnaryOp::exp, unary(UnaryOp::neg, unary(UnaryOp::abs, x))));
}
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))) + (std::isnan(x) ? x : 0); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double keep_nan(double x, double y) { return std::isnan(x) ? x : y; }

constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

constexpr auto kSigmoid = [](const Node&, double x) { return sigmoid(x); };
constexpr auto kTanh = [](const Node&, double x) { return std::tanh(x); };
constexpr auto kSoftplus = [](const Node&, double x) { return softplus(x); };
constexpr auto kSoftsign = [](const Node&, double x) { return x / (1 + std::fabs(x)); };
constexpr auto kMish = [](const Node&, double x) { return x * std::tanh(softplus(x)); };
constexpr auto kSwish = [](const Node& n, double x) { return x * sigmoid(n.float_attribute("alpha", 1) * x); };
constexpr auto kLeakyRelu = [](const Node& n, double x) { return x < 0 ? n.float_attribute("alpha", 0.01) * x : x; };
constexpr auto kThresholdedRelu = [](const Node& n, double x) { return x > n.float_attribute("alpha", 1) ? x : 0; };
constexpr auto kHardSwish = [](const Node&, double x) { return x * keep_nan(x, std::clamp(x / 6 + 0.5, 0.0, 1.0)); };
constexpr auto kElu = [](const Node& n, double x) { return x < 0 ? n.float_attribute("alpha", 1) * std::expm1(x) : x; };
constexpr auto kSelu = [](const Node& n, double x) {
  return n.float_attribute("gamma", kSeluGamma) * (x > 0 ? x : n.float_attribute("alpha", kSeluAlpha) * std::expm1(x));
};
constexpr auto kCelu = [](const Node& n, double x) {
  const double alpha = n.float_attribute("alpha", 1);
  return keep_nan(x, std::fmax(0, x) + std::fmin(0, alpha * std::expm1(x / alpha)));
};
constexpr auto kHardSigmoid = [](const Node& n, double x) {
  return keep_nan(x, std::clamp(n.float_attribute("alpha", 0.2) * x + n.float_attribute("beta", 0.5), 0.0, 1.0));
};
constexpr auto kGelu = [](const Node& n, double x) {
  if (n.string_attribute("approximate", "none") == "none") return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
};
constexpr auto kRelu = [](const Node&, auto x) { return x > 0 || x != x ? x : decltype(x){0}; };

/// exp(x) - 1 for x <= 0. The subtraction would cancel near 0, so the result is x + x^2 p there. For f32, p is a
/// minimax fit. For f64, p has the first terms of the Taylor series.
Expr expm1(const Expr& x) {
  std::vector<double> p = {0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.1239f2p-7, 0x1.6a2416p-10};
  if (x->dtype == DType::f64) {
    p.clear();
    for (double n = 2, factorial = 2; n <= 14; ++n, factorial *= n) p.push_back(1 / factorial);
  }
  Expr sum = literal(x, p.back());
  for (size_t i = p.size() - 1; i-- > 0;) sum = sum * x + literal(x, p[i]);
  return select(less(literal(x, -0.34), x), x + x * x * sum, unary(UnaryOp::exp, x) - literal(x, 1));
}

Expr build_relu(const Node&, const Expr& x) { return relu(x); }
Expr build_softplus(const Node&, const Expr& x) { return softplus(x); }
Expr build_softsign(const Node&, const Expr& x) {
  return binary(BinaryOp::div, x, literal(x, 1) + unary(UnaryOp::abs, x));
}
/// tanh(log(1 + e)) = w / (w + 2) with w = e (e + 2), e = exp(x): nothing cancels. From x = 40 on it is 1, in f64 too.
Expr build_mish(const Node&, const Expr& x) {
  const Expr e = unary(UnaryOp::exp, minimum(x, literal(x, 40))), w = e * (e + literal(x, 2));
  return x * binary(BinaryOp::div, w, w + literal(x, 2));
}
Expr build_swish(const Node& n, const Expr& x) {
  return x * unary(UnaryOp::sigmoid, literal(x, n.float_attribute("alpha", 1)) * x);
}
Expr build_leaky_relu(const Node& n, const Expr& x) {
  return select(less(x, zero(x)), literal(x, n.float_attribute("alpha", 0.01)) * x, x);
}
Expr build_thresholded_relu(const Node& n, const Expr& x) {
  return select(less(literal(x, n.float_attribute("alpha", 1)), x), x, zero(x));
}
Expr build_elu(const Node& n, const Expr& x) {
  return select(less(x, zero(x)), literal(x, n.float_attribute("alpha", 1)) * expm1(x), x);
}
Expr build_selu(const Node& n, const Expr& x) {
  const Expr negative = literal(x, n.float_attribute("alpha", kSeluAlpha)) * expm1(x);
  return literal(x, n.float_attribute("gamma", kSeluGamma)) * select(less(zero(x), x), x, negative);
}
Expr build_celu(const Node& n, const Expr& x) {
  const double alpha = n.float_attribute("alpha", 1);
  return maximum(x, zero(x)) + minimum(zero(x), literal(x, alpha) * expm1(x * literal(x, 1 / alpha)));
}
Expr hard_sigmoid(const Expr& x, double alpha, double beta) {
  return minimum(maximum(literal(x, alpha) * x + literal(x, beta), zero(x)), literal(x, 1));
}
Expr build_hard_sigmoid(const Node& n, const Expr& x) {
  return hard_sigmoid(x, n.float_attribute("alpha", 0.2), n.float_attribute("beta", 0.5));
}
Expr build_hard_swish(const Node&, const Expr& x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); }
Expr build_gelu(const Node& n, const Expr& x) {
  if (n.string_attribute("approximate", "none") != "none") return gelu_tanh(x);
  const Expr half = literal(x, 0.5), one = literal(x, 1);
  return half * x * (one + unary(UnaryOp::erf, x * literal(x, 1 / std::numbers::sqrt2)));
}

void infer_relu(InferContext& ctx) {
  infer_like_input(ctx);
  map_contents(ctx, 0, [](const Dim& d) -> std::optional<Dim> { return max(d, 0); });
}

void infer_gelu(InferContext& ctx) {
  infer_like_input(ctx);
  const std::string approximate = ctx.node().string_attribute("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    ctx.fail(concat("approximate is '", approximate, "', it must be 'none' or 'tanh'"));
}

// Shrink accepts any numeric type. lambd and bias are floats, so integers are computed in f32.
DType shrink_dtype(DType t) { return t == DType::f64 ? t : DType::f32; }

Expr lower_shrink(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const Expr x = cast(shrink_dtype(ctx.input_value(0).dtype), ctx.input(0, at));
  const Expr lambd = literal(x, ctx.node().float_attribute("lambd", 0.5)),
             bias = literal(x, ctx.node().float_attribute("bias", 0));
  const Expr positive = select(less(lambd, x), x - bias, zero(x));
  return as_output(ctx, output, select(less(x, unary(UnaryOp::neg, lambd)), x + bias, positive));
}

constexpr auto kShrink = [](const Node& n, double x) {
  const double lambd = n.float_attribute("lambd", 0.5), bias = n.float_attribute("bias", 0);
  return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
};

// ---- PRelu: the slope broadcasts to x

/// Before opset 7 the slope was one number, or one per channel.
void upgrade_prelu(UpgradeContext& ctx) {
  if (ctx.version < 7) align_second_operand(ctx, 1);
}

void infer_prelu(InferContext& ctx) {
  infer_like_input(ctx);
  if (ctx.rank(1) > ctx.rank(0)) ctx.fail("the slope has a higher rank than the input it broadcasts to");
  const size_t skipped = static_cast<size_t>(ctx.rank(0) - ctx.rank(1));
  for (size_t d = 0; d < ctx.shape(1).size(); ++d)
    if (!ctx.shape(1)[d].is(1))
      ctx.require_equal(ctx.shape(0)[skipped + d], ctx.shape(1)[d], concat("dimension ", d, " of the slope"));
}

Expr lower_prelu(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const Expr x = arithmetic_input(ctx, 0, at);
  return as_output(ctx, output, select(less(x, zero(x)), cast(x->dtype, ctx.broadcast_input(1, at)) * x, x));
}

std::vector<Tensor> reference_prelu(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &slope = *ctx.input(1);
  const std::vector<int64_t> offsets = broadcast_offsets(slope.shape(), x.shape());
  Tensor y(x.dtype(), x.shape());
  with_number_type(x.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < x.elements(); ++i) {
      const T v = get<T>(x, i);
      put<T>(y, i, v < 0 ? wrapping_mul(get<T>(slope, offsets[static_cast<size_t>(i)]), v) : v);
    }
  });
  return {std::move(y)};
}

// ---- Clip: bounds are attributes before opset 11, inputs since. A missing bound is the type's largest (or smallest)
//      finite number, so infinities are clipped.

void upgrade_clip(UpgradeContext& ctx) {
  if (ctx.version >= 11) return;
  const char* names[] = {"min", "max"};
  for (size_t i = 0; i < 2; ++i) {
    if (!ctx.node.has_attribute(names[i])) continue;
    const auto bound = static_cast<float>(ctx.node.float_attribute(names[i], 0));
    ctx.node.attributes.erase(names[i]);
    ctx.set_input(i + 1, Tensor::from<float>(DType::f32, {}, {bound}));
  }
}

void infer_clip(InferContext& ctx) {
  infer_like_input(ctx);
  for (int i = 1; i <= 2; ++i)
    if (ctx.has_input(i) && !product(ctx.shape(i)).is(1))
      ctx.fail(concat("the bound at input ", i, " is not a scalar"));
  const auto low = ctx.contents(1), high = ctx.contents(2);
  if ((ctx.has_input(1) && !low) || (ctx.has_input(2) && !high)) return;
  map_contents(ctx, 0, [&](Dim d) -> std::optional<Dim> {
    if (low) d = max(d, low->front());
    if (high) d = min(d, high->front());
    return d;
  });
}

/// `bounded`, or x if the bound is NaN: ONNX takes a bound only if x lies beyond it. For a constant bound, the compiler
/// knows whether it is NaN.
Expr unless_nan(const Value& bound, const Expr& loaded, Expr bounded, const Expr& x) {
  if (!is_float(bound.dtype)) return bounded;
  if (bound.constant) return std::isnan(bound.constant->at_double(0)) ? x : bounded;
  return select(unary(UnaryOp::is_nan, loaded), x, std::move(bounded));
}

Expr lower_clip(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  Expr x = arithmetic_input(ctx, 0, at);
  const DType type = ctx.input_value(0).dtype;
  const auto bounded = [&](int i, Expr (*choose)(const Expr&, const Expr&)) {
    const Expr bound = scalar_input(ctx, i, x->dtype);
    x = unless_nan(ctx.input_value(i), bound, choose(x, bound), x);
  };
  if (ctx.has_input(1))
    bounded(1, maximum);
  else if (is_float(type))
    x = maximum(x, literal(x, -largest_float(type)));
  if (ctx.has_input(2))
    bounded(2, minimum);
  else if (is_float(type))
    x = minimum(x, literal(x, largest_float(type)));
  return as_output(ctx, output, x);
}

std::vector<Tensor> reference_clip(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), *low = ctx.input(1), *high = ctx.input(2);
  Tensor y(x.dtype(), x.shape());
  with_number_type(x.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < x.elements(); ++i) {
      T v = get<T>(x, i);
      if (low && v < get<T>(*low, 0)) v = get<T>(*low, 0);
      if (high && v > get<T>(*high, 0)) v = get<T>(*high, 0);
      if constexpr (std::is_same_v<T, double>) {
        if (!low && v < -largest_float(x.dtype())) v = -largest_float(x.dtype());
        if (!high && v > largest_float(x.dtype())) v = largest_float(x.dtype());
      }
      put<T>(y, i, v);
    }
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_Relu{.name = "Relu",
                              .since = 1,
                              .min_inputs = 1,
                              .max_inputs = 1,
                              .types = {Types::numbers},
                              .kind = OpKind::pointwise,
                              .infer = infer_relu,
                              .lower = lower_unary<build_relu>,
                              .reference = reference_number<kRelu>};
constinit const OpDef op_Sigmoid =
    float_unary<UnaryOp::sigmoid, kSigmoid>("Sigmoid", 1, {.cost = Cost::expensive, .magnitude = Magnitude::bounded});
constinit const OpDef op_Tanh =
    float_unary<UnaryOp::tanh, kTanh>("Tanh", 1, {.cost = Cost::expensive, .magnitude = Magnitude::bounded});
constinit const OpDef op_LeakyRelu = float_function<build_leaky_relu, kLeakyRelu>("LeakyRelu", 1);
constinit const OpDef op_ThresholdedRelu =
    float_function<build_thresholded_relu, kThresholdedRelu>("ThresholdedRelu", 10);
constinit const OpDef op_Elu = float_function<build_elu, kElu>("Elu", 1, {.cost = Cost::expensive});
constinit const OpDef op_Selu = float_function<build_selu, kSelu>("Selu", 6, {.cost = Cost::expensive});
constinit const OpDef op_Celu = float_function<build_celu, kCelu>("Celu", 12, {.cost = Cost::expensive});
constinit const OpDef op_HardSigmoid =
    float_function<build_hard_sigmoid, kHardSigmoid>("HardSigmoid", 1, {.magnitude = Magnitude::bounded});
constinit const OpDef op_HardSwish = float_function<build_hard_swish, kHardSwish>("HardSwish", 14);
constinit const OpDef op_Softplus = float_function<build_softplus, kSoftplus>("Softplus", 1, {.cost = Cost::expensive});
constinit const OpDef op_Softsign =
    float_function<build_softsign, kSoftsign>("Softsign", 1, {.magnitude = Magnitude::bounded});
constinit const OpDef op_Mish = float_function<build_mish, kMish>("Mish", 18, {.cost = Cost::expensive});
constinit const OpDef op_Swish = float_function<build_swish, kSwish>("Swish", 24, {.cost = Cost::expensive});
constinit const OpDef op_Gelu{.name = "Gelu",
                              .since = 20,
                              .min_inputs = 1,
                              .max_inputs = 1,
                              .types = {Types::floats},
                              .kind = OpKind::pointwise,
                              .traits = {.cost = Cost::expensive},
                              .infer = infer_gelu,
                              .lower = lower_unary<build_gelu>,
                              .reference = reference_float<kGelu>};
constinit const OpDef op_Shrink{.name = "Shrink",
                                .since = 9,
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .types = {Types::numbers},
                                .kind = OpKind::pointwise,
                                .infer = infer_like_input,
                                .lower = lower_shrink,
                                .reference = reference_float<kShrink>};
constinit const OpDef op_PRelu{.name = "PRelu",
                               .since = 1,
                               .min_inputs = 2,
                               .max_inputs = 2,
                               .types = {Types::numbers, Types::as_first},
                               .kind = OpKind::pointwise,
                               .upgrade = upgrade_prelu,
                               .infer = infer_prelu,
                               .lower = lower_prelu,
                               .reference = reference_prelu};
constinit const OpDef op_Clip{.name = "Clip",
                              .since = 1,
                              .min_inputs = 1,
                              .max_inputs = 3,
                              .types = {Types::numbers, Types::as_first},
                              .kind = OpKind::pointwise,
                              .traits = {.data_inputs = 1},
                              .upgrade = upgrade_clip,
                              .infer = infer_clip,
                              .lower = lower_clip,
                              .reference = reference_clip};

}  // namespace gcg
