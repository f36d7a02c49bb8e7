#include "codegen/cpu/expressions/byte_sum.h"

#include <cmath>

#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {

namespace {

bool is_binary(const Expr& e, BinaryOp op) { return e->kind == ExprKind::binary && e->binary == op; }
bool is_cast(const Expr& e, DType to) { return e->kind == ExprKind::cast && e->dtype == to; }

/// factor * (byte - zero).
struct Dequantized {
  ByteSum::Term term;
  double zero = 0;
};
std::optional<Dequantized> dequantized(const Expr& e) {
  const bool has_factor = is_binary(e, BinaryOp::mul) && e->args[1]->kind == ExprKind::constant;
  const double factor = has_factor ? e->args[1]->number : 1;
  const Expr& whole = has_factor ? e->args[0] : e;
  if (!is_cast(whole, DType::f32)) return std::nullopt;
  Expr steps = whole->args[0];
  double zero = 0;
  if (is_binary(steps, BinaryOp::sub) && steps->args[1]->kind == ExprKind::constant && steps->dtype == DType::i32) {
    zero = static_cast<double>(steps->args[1]->integer);
    steps = steps->args[0];
  }
  if (is_cast(steps, DType::i32)) steps = steps->args[0];
  if (steps->dtype != DType::i8 && steps->dtype != DType::u8) return std::nullopt;
  return Dequantized{{steps, factor}, zero};
}

void add_terms(const Expr& e, int lane, ByteSum& sum) {
  if (is_binary(e, BinaryOp::add)) {
    add_terms(e->args[0], lane, sum);
    add_terms(e->args[1], lane, sum);
    return;
  }
  if (e->kind == ExprKind::constant) {
    sum.constant += e->number;
    sum.most += std::abs(e->number);
    return;
  }
  const auto part = dequantized(e);
  sum.most += part ? (255 + std::abs(part->zero)) * std::abs(part->term.factor) : HUGE_VAL;
  if (!part || !depends_on(part->term.byte, lane)) {
    sum.float_terms.push_back(e);
    return;
  }
  sum.terms.push_back(part->term);
  sum.constant -= part->term.factor * part->zero;
}

}  // namespace

std::optional<ByteSum> byte_sum_of(const Expr& e, int lane) {
  constexpr size_t kMostTerms = 8;
  if (e->dtype != DType::f32) return std::nullopt;
  ByteSum sum;
  add_terms(e, lane, sum);
  if (sum.terms.empty() || sum.terms.size() + sum.float_terms.size() > kMostTerms || !std::isfinite(sum.constant))
    return std::nullopt;
  return sum;
}

}  // namespace gcg::cpu
