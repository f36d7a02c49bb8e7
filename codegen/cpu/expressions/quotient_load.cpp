// Loads of elements whose positions are quotients of the lanes' positions, such as the scales of blocks. A few
// neighbouring lanes read one or two elements.
#include <llvm/Analysis/VectorUtils.h>

#include <cstdint>

#include "codegen/cpu/expressions/arithmetic.h"
#include "codegen/cpu/expressions/evaluation.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {

using llvm::Value;

/// The only term of a load's indices that differs between lanes, if it is (first + lane) / divisor; else null.
const ExprNode* Evaluation::quotient_of(const ExprNode& load) {
  const ExprNode* found = nullptr;
  for (const Expr& i : load.args) {
    if (is_checked(f_.kernel(), i)) return nullptr;
    for (const Expr& term : terms_of(i)) {
      if (!varies(term)) continue;
      const bool divides = term->kind == ExprKind::binary && term->binary == BinaryOp::floor_div && !is_data(term) &&
                           term->args[1]->kind == ExprKind::constant;
      const auto stride = divides ? index_stride(term->args[0], point_.lane_axis) : std::nullopt;
      if (found != nullptr || !stride || !stride->is(1)) return nullptr;
      found = term.get();
    }
  }
  return found;
}

/// Null for other loads. A masked load would have to know its last active lane.
Value* Evaluation::quotient_load(const ExprNode& e) {
  constexpr int kFewestLanes = 4, kMostParts = 2;
  if (point_.lanes < kFewestLanes || point_.mask != nullptr || e.guarded) return nullptr;
  const ExprNode* quotient = quotient_of(e);
  if (quotient == nullptr || quotient->args[1]->integer > INT32_MAX) return nullptr;
  int together = point_.lanes;
  while (together > quotient->args[1]->integer) together /= 2;
  if (together < kFewestLanes || together * kMostParts < point_.lanes) return nullptr;
  const std::vector<Dim> strides = access_strides(f_.kernel().operands[static_cast<size_t>(e.operand)], e.args);
  Value *uniform = f_.i64(0), *step = nullptr, *divisor = f_.i64(quotient->args[1]->integer);
  for (size_t d = 0; d < e.args.size(); ++d)
    for (const Expr& term : terms_of(e.args[d])) {
      if (term.get() == quotient)
        step = f_.dim(strides[d]);
      else
        uniform = ir_.CreateAdd(uniform, ir_.CreateMul(value(term), f_.dim(strides[d])));
    }
  const auto over = [&](Value* i) { return emit_binary(f_, BinaryOp::floor_div, DType::i64, i, divisor); };
  const auto element = [&](Value* q) {
    Value* at = ir_.CreateAdd(uniform, ir_.CreateMul(q, step));
    return f_.splat(f_.load(f_.operand(e.operand), e.dtype, at, 1, nullptr), together);
  };
  std::vector<Value*> parts;
  for (int from = 0; from < point_.lanes; from += together) {
    Value* first = ir_.CreateAdd(base_value(quotient->args[0]), f_.i64(from));
    Value *low = over(first), *high = over(ir_.CreateAdd(first, f_.i64(together - 1)));
    Value* change = ir_.CreateTrunc(ir_.CreateSub(ir_.CreateMul(high, divisor), first), ir_.getInt32Ty());
    Value* lane = ir_.CreateTrunc(f_.iota(together), f_.type(DType::i32, together));
    Value* is_high = ir_.CreateICmpSGE(lane, f_.splat(change, together));
    parts.push_back(ir_.CreateSelect(is_high, element(high), element(low)));
  }
  return llvm::concatenateVectors(ir_, parts);
}

}  // namespace gcg::cpu
