// Gradients of activation functions. At a kink, the slope is the one on the left, as in PyTorch: relu'(0) is 0.
#include <cmath>
#include <numbers>

#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

Formula above(Formula x, double limit) { return compare("Greater", x, limit); }
Formula less(Formula x, double limit) { return compare("Less", x, limit); }
Formula sigmoid(Formula x) { return unary("Sigmoid", x); }
Formula both(Formula a, Formula b) { return compare("And", a, b); }

/// x * sigmoid(alpha * x).
Formula swish_slope(Formula x, double alpha) {
  const Formula s = sigmoid(alpha == 1 ? x : x * alpha);
  return s + (alpha == 1 ? x : x * alpha) * s * (1 - s);
}

Formula gelu_slope(Formula x, bool by_tanh) {
  if (!by_tanh)
    return (unary("Erf", x * std::numbers::sqrt2 / 2) + 1) * 0.5 +
           x * unary("Exp", x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  const double scale = std::sqrt(2 / std::numbers::pi), cube = 0.044715;
  const Formula t = unary("Tanh", (x + x * x * x * cube) * scale);
  return (t + 1) * 0.5 + x * (1 - t * t) * (x * x * (3 * cube) + 1) * (0.5 * scale);
}

Formula mish_slope(Formula x) {
  const Formula t = unary("Tanh", unary("Softplus", x));
  return t + x * (1 - t * t) * sigmoid(x);
}

void leaky_relu_rule(C& c) { c.set(0, choose(above(c.x(), 0), c.g(), c.g() * c.number("alpha", 0.01))); }

void elu_rule(C& c) {
  const double alpha = c.number("alpha", 1);
  c.set(0, choose(above(c.x(), 0), c.g(), c.g() * (c.y() + alpha)));
}

void selu_rule(C& c) {
  const double alpha = c.number("alpha", kSeluAlpha), gamma = c.number("gamma", kSeluGamma);
  c.set(0, choose(above(c.x(), 0), c.g() * gamma, c.g() * (c.y() + alpha * gamma)));
}

void celu_rule(C& c) { c.set(0, choose(above(c.x(), 0), c.g(), c.g() * unary("Exp", c.x() / c.number("alpha", 1)))); }

void hard_sigmoid_rule(C& c) {
  c.set(0, choose(both(above(c.y(), 0), less(c.y(), 1)), c.g() * c.number("alpha", 0.2), 0));
}

void hard_swish_rule(C& c) {
  const Formula x = c.x(), inner = c.g() * (x / 3 + 0.5);
  c.set(0, choose(above(x, 3), c.g(), choose(less(x, -3), 0, inner)));
}

void shrink_rule(C& c) { c.set(0, choose(above(unary("Abs", c.x()), c.number("lambd", 0.5)), c.g(), 0)); }

void prelu_rule(C& c) {
  const Formula positive = above(c.x(), 0);
  c.set(0, choose(positive, c.g(), c.g() * c.x(1)));
  if (c.wants(1)) c.set(1, choose(positive, 0, c.g() * c.x()));
}

/// The gradient of an element outside of the bounds goes to the bound that it exceeds.
void clip_rule(C& c) {
  Formula dx = c.g();
  const char* beyond[] = {"Less", "Greater"};
  for (size_t i = 1; i <= 2; ++i) {
    if (!c.has_x(i)) continue;
    const Formula outside = compare(beyond[i - 1], c.x(), c.x(i));
    dx = choose(outside, 0, dx);
    if (c.wants(i)) c.set(i, reshape_like(total(choose(outside, c.g(), 0)), c.x(i)));
  }
  c.set(0, dx);
}

void gelu_rule(C& c) {
  c.set(0, c.g() * gelu_slope(c.x(), c.node().string_attribute("approximate", "none") == "tanh"));
}

constexpr GradientRow kRows[] = {
    {"Hardmax", zero_gradient},
    {"Celu", celu_rule},
    {"Clip", clip_rule},
    {"Elu", elu_rule},
    {"Gelu", gelu_rule},
    {"HardSigmoid", hard_sigmoid_rule},
    {"HardSwish", hard_swish_rule},
    {"LeakyRelu", leaky_relu_rule},
    {"Mish", [](C& c) { c.set(0, c.g() * mish_slope(c.x())); }},
    {"PRelu", prelu_rule},
    {"Relu", [](C& c) { c.set(0, choose(above(c.x(), 0), c.g(), 0)); }},
    {"Selu", selu_rule},
    {"Shrink", shrink_rule},
    {"Sigmoid", [](C& c) { c.set(0, c.g() * c.y() * (1 - c.y())); }},
    {"Softplus", [](C& c) { c.set(0, c.g() * sigmoid(c.x())); }},
    {"Softsign",
     [](C& c) {
       const Formula d = unary("Abs", c.x()) + 1;
       c.set(0, c.g() / (d * d));
     }},
    {"Swish", [](C& c) { c.set(0, c.g() * swish_slope(c.x(), c.number("alpha", 1))); }},
    {"Tanh", [](C& c) { c.set(0, c.g() * (1 - c.y() * c.y())); }},
    {"ThresholdedRelu", [](C& c) { c.set(0, choose(above(c.x(), c.number("alpha", 1)), c.g(), 0)); }},
};

}  // namespace

std::span<const GradientRow> activation_gradients() { return kRows; }

}  // namespace gcg
