#include "codegen/library/epilogue_match.h"

#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/library_activation.h"

namespace gcg::library {
namespace {

bool is_binary(const Expr& e, BinaryOp op) { return e->kind == ExprKind::binary && e->binary == op; }
void collect_terms(const Expr& e, std::vector<Expr>& terms) {
  if (!is_binary(e, BinaryOp::add)) return terms.push_back(e);
  collect_terms(e->args[0], terms);
  collect_terms(e->args[1], terms);
}

bool same_strides(const Affine& a, const Affine& b) { return a.strides == b.strides; }

bool runs_along(const Affine& a, const Axis& axis) {
  return a.strides.size() <= 1 &&
         (a.strides.empty() ? axis.extent.is(1) : a.strides.count(axis.id) && a.strides.at(axis.id).is(1));
}

/// Adds one term to the match; false if libraries cannot add it.
bool take_term(const Kernel& kernel, const Expr& term, const Axis& bias_axis, const Affine& result,
               EpilogueMatch& match) {
  const auto access = access_of(kernel, term);
  if (!access) return false;
  if (!match.bias && runs_along(access->address, bias_axis)) {
    match.bias = access;
    return true;
  }
  if (match.addend || !same_strides(access->address, result)) return false;
  match.addend = access;
  return true;
}

}  // namespace

std::optional<double> accumulator_scale(const Expr& e) {
  if (e->kind == ExprKind::accumulator) return 1;
  if (!is_binary(e, BinaryOp::mul)) return std::nullopt;
  const bool left = e->args[0]->kind == ExprKind::constant;
  if (!left && e->args[1]->kind != ExprKind::constant) return std::nullopt;
  const auto inner = accumulator_scale(e->args[left ? 1 : 0]);
  return inner ? std::optional(*inner * e->args[left ? 0 : 1]->number) : std::nullopt;
}

std::optional<Access> access_of(const Kernel& kernel, Expr term) {
  const bool widened = term->kind == ExprKind::cast && term->dtype == DType::f32;
  if (widened) term = term->args[0];  // 16 bits in memory
  const bool fits = widened ? term->dtype == DType::f16 || term->dtype == DType::bf16 : term->dtype == DType::f32;
  if (!fits || term->kind != ExprKind::load || term->guarded) return std::nullopt;
  const Operand& operand = kernel.operands[static_cast<size_t>(term->operand)];
  const auto address = address_of(operand, term->args);
  if (!address || operand.written) return std::nullopt;
  return Access{term->operand, *address};
}

std::optional<Affine> address_of(const Operand& operand, const std::vector<Expr>& index) {
  const std::vector<Dim> strides = access_strides(operand, index);
  Expr sum = gcg::index(0);
  for (size_t d = 0; d < index.size(); ++d) sum = index[d] * extent(strides[d]) + sum;
  return as_affine(sum);
}

Dim stride_of(const Affine& address, const Axis& axis) {
  const auto it = address.strides.find(axis.id);
  return it == address.strides.end() ? Dim(0) : it->second;
}

std::optional<EpilogueMatch> match_epilogue(const Kernel& kernel, const Expr& epilogue, const Axis& bias_axis,
                                            const Affine& result) {
  EpilogueMatch match;
  if (epilogue->dtype != DType::f32) return std::nullopt;
  const ActivatedExpr activated = activation_of(epilogue);
  match.activation = activated.function;
  std::vector<Expr> terms;
  collect_terms(activated.argument, terms);
  bool summed = false;
  for (const Expr& term : terms) {
    const auto scale = accumulator_scale(term);
    if (scale && summed) return std::nullopt;
    if (!scale && !take_term(kernel, term, bias_axis, result, match)) return std::nullopt;
    if (scale) match.scale = *scale;
    summed = summed || scale;
  }
  return summed ? std::optional(match) : std::nullopt;
}

}  // namespace gcg::library
