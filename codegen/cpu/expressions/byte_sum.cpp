#include "codegen/cpu/expressions/byte_sum.h"

#include <cmath>
#include <limits>

#include "codegen/cpu/expressions/arithmetic.h"
#include "codegen/cpu/expressions/evaluation.h"
#include "codegen/cpu/expressions/vector_math.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {

using llvm::Value;

namespace {

bool is_binary(const Expr& e, BinaryOp op) { return e->kind == ExprKind::binary && e->binary == op; }
bool is_cast(const Expr& e, DType to) { return e->kind == ExprKind::cast && e->dtype == to; }

/// factor * (byte - zero) as a term and a constant; false: the expression is another one.
bool add_byte(const Expr& e, double factor, ByteSum& sum) {
  if (!is_cast(e, DType::f32)) return false;
  Expr steps = e->args[0];
  double zero = 0;
  if (is_binary(steps, BinaryOp::sub) && steps->args[1]->kind == ExprKind::constant && steps->dtype == DType::i32) {
    zero = static_cast<double>(steps->args[1]->integer);
    steps = steps->args[0];
  }
  if (is_cast(steps, DType::i32)) steps = steps->args[0];
  if (steps->dtype != DType::i8 && steps->dtype != DType::u8) return false;
  sum.terms.push_back({steps, factor});
  sum.constant -= factor * zero;
  return true;
}

void add_terms(const Expr& e, ByteSum& sum) {
  if (is_binary(e, BinaryOp::add)) {
    add_terms(e->args[0], sum);
    add_terms(e->args[1], sum);
  } else if (e->kind == ExprKind::constant) {
    sum.constant += e->number;
  } else if (is_binary(e, BinaryOp::mul) && e->args[1]->kind == ExprKind::constant) {
    if (!add_byte(e->args[0], e->args[1]->number, sum)) sum.rest.push_back(e);
  } else if (!add_byte(e, 1, sum)) {
    sum.rest.push_back(e);
  }
}

}  // namespace

std::optional<ByteSum> byte_sum_of(const Expr& e) {
  constexpr size_t kMostTerms = 8;
  if (e->dtype != DType::f32) return std::nullopt;
  ByteSum sum;
  add_terms(e, sum);
  if (sum.terms.empty() || sum.terms.size() + sum.rest.size() > kMostTerms) return std::nullopt;
  if (!std::isfinite(most_of({sum.constant, {}, sum.terms}))) return std::nullopt;
  return sum;
}

double most_of(const ByteSum& sum) {
  if (!sum.rest.empty()) return std::numeric_limits<double>::infinity();
  double most = std::abs(sum.constant);
  for (const ByteSum::Term& t : sum.terms) most += 255 * std::abs(t.factor);
  return most;
}

/// What all lanes have in common comes first: it is one number.
Value* Evaluation::byte_sum(const ByteSum& sum) {
  const auto all = [&](Value* v) { return f_.splat(v, point_.lanes); };
  Value* total = f_.f32(sum.constant);
  for (const bool in_lanes : {false, true}) {
    const auto has_turn = [&](const Expr& e) { return depends_on(e, point_.lane_axis) == in_lanes; };
    for (const Expr& e : sum.rest)
      if (has_turn(e)) {
        Value* addend = value(e);
        if (FunctionBuilder::is_vector(addend)) total = all(total);
        total = ir_.CreateFAdd(total, addend);
      }
    for (const ByteSum::Term& t : sum.terms)
      if (has_turn(t.byte)) {
        Value* byte = emit_cast(f_, t.byte->dtype, DType::f32, value(t.byte));
        if (FunctionBuilder::is_vector(byte)) total = all(total);
        total = emit_fma(f_, byte, f_.constant_like(byte, t.factor), total);
      }
  }
  return total;
}

}  // namespace gcg::cpu
