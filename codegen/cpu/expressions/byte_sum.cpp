#include "codegen/cpu/expressions/byte_sum.h"

#include <cmath>

#include "codegen/cpu/expressions/arithmetic.h"
#include "codegen/cpu/expressions/evaluation.h"
#include "codegen/cpu/expressions/vector_math.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {

using llvm::Value;

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
    sum.rest.push_back(e);
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
  if (sum.terms.empty() || sum.terms.size() + sum.rest.size() > kMostTerms || !std::isfinite(sum.constant))
    return std::nullopt;
  return sum;
}

/// What all lanes have in common comes first: it is one number.
Value* Evaluation::byte_sum(const ByteSum& sum) {
  const auto all = [&](Value* v) { return f_.splat(v, point_.lanes); };
  Value* total = f_.f32(sum.constant);
  for (const bool in_lanes : {false, true})
    for (const Expr& e : sum.rest) {
      if (depends_on(e, point_.lane_axis) != in_lanes) continue;
      Value* addend = value(e);
      total = ir_.CreateFAdd(FunctionBuilder::is_vector(addend) ? all(total) : total, addend);
    }
  for (const ByteSum::Term& t : sum.terms) {
    Value* byte = all(emit_cast(f_, t.byte->dtype, DType::f32, value(t.byte)));
    total = emit_fma(f_, byte, f_.constant_like(byte, t.factor), all(total));
  }
  return total;
}

}  // namespace gcg::cpu
