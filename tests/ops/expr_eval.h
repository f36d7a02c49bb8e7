// A slow evaluator of expressions over tensors. It computes a kernel's results one element at a time. It follows the
// contract of expr.h strictly: a load outside its operand throws, unless the load is guarded and a select around it
// takes the other side.
#pragma once

#include <map>
#include <vector>

#include "compiler/ir/dim.h"
#include "compiler/ir/tensor.h"
#include "compiler/kernel/expr.h"

namespace gcg::test {

/// One element: `number` for float dtypes, `integer` (wrapped to the dtype; u64 as its bits) for all others.
struct Scalar {
  double number = 0;
  int64_t integer = 0;
};

class ExprEvaluator {
 public:
  /// `operands`: the tensors that Load nodes read, by operand number; null if an operand must not be read.
  ExprEvaluator(std::vector<const Tensor*> operands, SymbolValues symbols)
      : operands_(std::move(operands)), symbols_(std::move(symbols)) {}

  void set_axis(int id, int64_t value) { axes_[id] = value; }
  void set_local(int local, Scalar value) { locals_[local] = value; }
  void set_accumulator(double value) { accumulator_ = value; }

  Scalar evaluate(const Expr& e) { return evaluate(e, true); }

 private:
  /// `live`: every select around `e` takes the side that contains `e`.
  Scalar evaluate(const Expr& e, bool live);
  Scalar load(const ExprNode& e, bool live);
  Scalar reduce(const ExprNode& e, size_t depth, Scalar so_far, bool live);

  std::vector<const Tensor*> operands_;
  SymbolValues symbols_;
  std::map<int, int64_t> axes_;
  std::map<int, Scalar> locals_;
  double accumulator_ = 0;
};

/// A value as its dtype stores it: rounded to f32 for f32, ..., wrapped for integers.
Scalar round_to(DType dtype, Scalar value);
Scalar apply(UnaryOp op, DType dtype, Scalar a);
Scalar apply(BinaryOp op, DType dtype, Scalar a, Scalar b);
/// ONNX's Cast as expr.h defines it.
Scalar convert(DType from, DType to, Scalar a);

}  // namespace gcg::test
