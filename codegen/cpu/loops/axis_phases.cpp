#include "codegen/cpu/loops/axis_phases.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {
namespace {

constexpr int64_t kMostPhases = 4;

bool divides_index(const ExprNode& n) {
  return n.kind == ExprKind::binary && (n.binary == BinaryOp::floor_div || n.binary == BinaryOp::mod) &&
         n.dtype == DType::i64 && n.args[1]->kind == ExprKind::constant && n.args[1]->integer > 1;
}

/// The number of elements of `axis` after which the quotients and remainders in `value` repeat, up to a constant
/// offset.
int64_t period_of(const Expr& value, const Axis& axis) {
  int64_t period = 1;
  visit(value, [&](const ExprNode& n) {
    if (!divides_index(n)) return;
    const auto affine = as_affine(n.args[0]);
    if (!affine) return;
    const auto stride = affine->strides.find(axis.id);
    if (stride == affine->strides.end() || !stride->second.is_constant()) return;
    const int64_t divisor = n.args[1]->integer;
    period = std::min(std::lcm(period, divisor / std::gcd(stride->second.constant(), divisor)), kMostPhases + 1);
  });
  return period;
}

/// The quotient or remainder as an affine index, if the numerator without its constant is a multiple of the divisor.
Expr divided(const ExprNode& n) {
  const auto affine = as_affine(n.args[0]);
  const int64_t divisor = n.args[1]->integer;
  if (!affine || !affine->base.is_constant()) return nullptr;
  for (const auto& [axis, stride] : affine->strides)
    if (!stride.is_constant() || stride.constant() % divisor != 0) return nullptr;
  const int64_t base = affine->base.constant(), quotient = (base - ((base % divisor) + divisor) % divisor) / divisor;
  if (n.binary == BinaryOp::mod) return index(base - quotient * divisor);
  Expr sum = index(quotient);
  for (const auto& [axis, stride] : affine->strides)  // an extent other than 1 keeps the axis from being folded away
    sum = sum + axis_ref({axis, Dim::symbol("?")}) * index(stride.constant() / divisor);
  return sum;
}

Expr replace_axis(const Expr& e, const Axis& axis, const Expr& by) {
  return rewrite(e,
                 [&](const Expr& n) -> Expr { return n->kind == ExprKind::axis && n->axis == axis.id ? by : nullptr; });
}

}  // namespace

void split_phases(Stage& stage, std::vector<Axis>& axes, const std::vector<Operand>& operands, int fresh) {
  const auto contiguous = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) {
    const auto stride = address_stride(operands[static_cast<size_t>(stage.operand)], stage.index, a.id);
    return stride && stride->is(1);
  });
  if (contiguous == axes.end()) return;
  const int64_t period = period_of(stage.value, *contiguous);
  if (period < 2 || period > kMostPhases || contiguous->extent.is(period) || !is_multiple(contiguous->extent, period))
    return;
  const Axis major{contiguous->id, floor_div(contiguous->extent, Dim(period))}, minor{fresh, period};
  const Expr split = axis_ref(major) * index(period) + axis_ref(minor);
  stage.value = replace_axis(stage.value, major, split);
  for (Expr& i : stage.index) i = replace_axis(i, major, split);
  *contiguous = major;
  axes.push_back(minor);
}

std::vector<Expr> phases_of(const Expr& value, const Axis& minor) {
  std::vector<Expr> phases;
  for (int64_t k = 0; k < minor.extent.constant(); ++k)
    phases.push_back(rewrite(replace_axis(value, minor, index(k)),
                             [](const Expr& n) -> Expr { return divides_index(*n) ? divided(*n) : nullptr; }));
  return phases;
}

}  // namespace gcg::cpu
