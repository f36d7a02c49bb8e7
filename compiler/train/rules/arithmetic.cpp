// Gradients of arithmetic and of elementary functions. Where a function has no derivative, the value is PyTorch's: |x|'
// is 0 at 0, and equal operands of Max share the gradient.
#include <cmath>
#include <numbers>

#include "compiler/ops/op_support.h"
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

Formula square(Formula x) { return x * x; }

/// The value of a constant whose elements are all equal; nullopt for other values.
std::optional<double> only_value(const Value& v) {
  if (!v.is_constant() || v.constant->elements() == 0) return std::nullopt;
  for (int64_t i = 1; i < v.constant->elements(); ++i)
    if (v.constant->at_double(i) != v.constant->at_double(0)) return std::nullopt;
  return v.constant->at_double(0);
}

/// An exponent of 0 gives the gradient 0, even where the base is 0.
void power_rule(C& c) {
  const Formula a = c.x(0), b = c.x(1);
  const std::optional<double> exponent = only_value(b.value());
  if (exponent) {
    if (*exponent != 0) c.set(0, c.g() * (power(a, *exponent - 1) * *exponent));
  } else if (c.wants(0)) {
    const Formula p = cast(b, a.dtype());
    c.set(0, c.g() * choose(compare("Equal", p, 0), 0, p * power(a, p - 1)));
  }
  if (!c.wants(1)) return;
  const Formula log = choose(compare("Greater", a, 0), unary("Log", a), 0);
  c.set(1, cast(c.g() * c.y() * log, b.dtype()));
}

void modulo_rule(C& c) {
  c.set(0, c.g());
  if (!c.wants(1)) return;
  const Formula turns = (c.x(0) - c.y()) / c.x(1);
  c.set(1, -(c.g() * unary("Round", turns)));
}

/// Max and Min: operands that equal the result share the gradient in equal parts.
void pick_rule(C& c) {
  std::vector<Formula> hits;
  Formula count;
  for (size_t i = 0; i < c.operands(); ++i) {
    hits.push_back(cast(compare("Equal", c.x(i), c.y()), c.g().dtype()));
    count = i == 0 ? hits[0] : count + hits[i];
  }
  const Formula share = c.g() / count;
  for (size_t i = 0; i < c.operands(); ++i) c.set(i, share * hits[i]);
}

void shared_rule(C& c) {
  for (size_t i = 0; i < c.operands(); ++i) c.set(i, c.g());
}

void mean_rule(C& c) {
  const Formula share = c.g() / static_cast<double>(c.operands());
  for (size_t i = 0; i < c.operands(); ++i) c.set(i, share);
}

void where_rule(C& c) {
  c.set(1, choose(c.x(0), c.g(), 0));
  c.set(2, choose(c.x(0), 0, c.g()));
}

void erf_rule(C& c) { c.set(0, c.g() * unary("Exp", -square(c.x())) * (2 * std::numbers::inv_sqrtpi)); }

void cast_rule(C& c) { c.set(0, cast(c.g(), c.x().dtype())); }

constexpr GradientRow kRows[] = {
    {"Ceil", zero_gradient},
    {"Floor", zero_gradient},
    {"Round", zero_gradient},
    {"Sign", zero_gradient},
    {"Abs", [](C& c) { c.set(0, c.g() * unary("Sign", c.x())); }},
    {"Acos", [](C& c) { c.set(0, -(c.g() / unary("Sqrt", 1 - square(c.x())))); }},
    {"Acosh", [](C& c) { c.set(0, c.g() / unary("Sqrt", square(c.x()) - 1)); }},
    {"Add", shared_rule},
    {"Asin", [](C& c) { c.set(0, c.g() / unary("Sqrt", 1 - square(c.x()))); }},
    {"Asinh", [](C& c) { c.set(0, c.g() / unary("Sqrt", square(c.x()) + 1)); }},
    {"Atan", [](C& c) { c.set(0, c.g() / (square(c.x()) + 1)); }},
    {"Atanh", [](C& c) { c.set(0, c.g() / (1 - square(c.x()))); }},
    {"Cast", cast_rule},
    {"CastLike", cast_rule},
    {"Cos", [](C& c) { c.set(0, -(c.g() * unary("Sin", c.x()))); }},
    {"Cosh", [](C& c) { c.set(0, c.g() * unary("Sinh", c.x())); }},
    {"Div",
     [](C& c) {
       c.set(0, c.g() / c.x(1));
       if (c.wants(1)) c.set(1, -(c.g() * c.y() / c.x(1)));
     }},
    {"Erf", erf_rule},
    {"Exp", [](C& c) { c.set(0, c.g() * c.y()); }},
    {"Log", [](C& c) { c.set(0, c.g() / c.x()); }},
    {"Max", pick_rule},
    {"Mean", mean_rule},
    {"Min", pick_rule},
    {"Mod", modulo_rule},
    {"Mul",
     [](C& c) {
       if (c.wants(0)) c.set(0, c.g() * c.x(1));
       if (c.wants(1)) c.set(1, c.g() * c.x(0));
     }},
    {"Neg", [](C& c) { c.set(0, -c.g()); }},
    {"Pow", power_rule},
    {"Reciprocal", [](C& c) { c.set(0, -(c.g() * square(c.y()))); }},
    {"Sin", [](C& c) { c.set(0, c.g() * unary("Cos", c.x())); }},
    {"Sinh", [](C& c) { c.set(0, c.g() * unary("Cosh", c.x())); }},
    {"Sqrt", [](C& c) { c.set(0, c.g() / (c.y() * 2)); }},
    {"Sub",
     [](C& c) {
       c.set(0, c.g());
       if (c.wants(1)) c.set(1, -c.g());
     }},
    {"Sum", shared_rule},
    {"Tan", [](C& c) { c.set(0, c.g() * (square(c.y()) + 1)); }},
    {"Where", where_rule},
};

}  // namespace

std::span<const GradientRow> arithmetic_gradients() { return kRows; }

}  // namespace gcg
