#include "compiler/kernel/library_activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gcg {
namespace {

constexpr int kArgument = -1;  // the local that stands for the argument in a pattern

bool is_argument(const Expr& e) { return e->kind == ExprKind::local && e->local == kArgument; }

/// True if the two nodes are equal apart from their arguments.
bool same_node(const ExprNode& a, const ExprNode& b) {
  const auto is_same_axis = [](const Axis& x, const Axis& y) { return x.id == y.id && x.extent == y.extent; };
  return a.kind == b.kind && a.dtype == b.dtype && a.number == b.number && a.integer == b.integer && a.axis == b.axis &&
         a.operand == b.operand && a.local == b.local && a.unary == b.unary && a.binary == b.binary &&
         a.reduce == b.reduce && a.guarded == b.guarded && a.dim == b.dim && a.args.size() == b.args.size() &&
         std::equal(a.reduce_axes.begin(), a.reduce_axes.end(), b.reduce_axes.begin(), b.reduce_axes.end(),
                    is_same_axis);
}

bool is_commutative(const ExprNode& n) {
  return n.kind == ExprKind::binary &&
         (n.binary == BinaryOp::add || n.binary == BinaryOp::mul || n.binary == BinaryOp::max);
}

/// Finds the argument for which a pattern equals `e`. All places of the argument in the pattern must agree.
class Matcher {
 public:
  Expr argument;

  bool fits(const Expr& pattern, const Expr& e) {
    if (pattern == e) return true;
    if (is_argument(pattern)) return takes(pattern, e);
    if (!same_node(*pattern, *e)) return false;
    const Expr before = argument;
    if (std::equal(pattern->args.begin(), pattern->args.end(), e->args.begin(),
                   [&](const Expr& p, const Expr& x) { return fits(p, x); }))
      return true;
    argument = before;
    return is_commutative(*e) && fits(pattern->args[0], e->args[1]) && fits(pattern->args[1], e->args[0]);
  }

 private:
  bool takes(const Expr& pattern, const Expr& e) {
    if (argument) return Matcher().fits(argument, e);
    if (e->dtype != pattern->dtype || e->kind == ExprKind::constant) return false;
    argument = e;
    return true;
  }
};

Expr literal(const Expr& like, double value) {
  return is_float(like->dtype) ? constant_float(like->dtype, value)
                               : constant_int(like->dtype, static_cast<int64_t>(value));
}

struct NamedFunction {
  LibraryActivation name;
  Expr (*of)(const Expr& x);
};
constexpr NamedFunction kNamed[] = {{LibraryActivation::relu, relu}, {LibraryActivation::gelu_tanh, gelu_tanh}};

}  // namespace

Expr relu(const Expr& x) { return binary(BinaryOp::max, x, literal(x, 0)); }

Expr gelu_tanh(const Expr& x) {
  const Expr inner = x + literal(x, 0.044715) * x * x * x;
  // (1 + tanh(z)) / 2 is sigmoid(2 z), which loses no digits for z far below 0.
  return x * unary(UnaryOp::sigmoid, literal(x, 2 * std::sqrt(2 / std::numbers::pi)) * inner);
}

ActivatedExpr activation_of(const Expr& e) {
  for (const NamedFunction& function : kNamed) {
    Matcher matcher;
    if (matcher.fits(function.of(local_ref(kArgument, DType::f32)), e)) return {function.name, matcher.argument};
  }
  return {LibraryActivation::none, e};
}

}  // namespace gcg
