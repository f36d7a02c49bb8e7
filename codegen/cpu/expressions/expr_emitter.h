// Emits instructions for expressions: for one element, or for a vector of elements along one axis.
#pragma once

#include <map>
#include <vector>

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {

/// The point at which an expression is evaluated. With lanes == 1 the result is a scalar. Otherwise lane j evaluates
/// the point whose `lane_axis` coordinate is axes[lane_axis] + j. The result is then a vector, or a scalar if it is the
/// same in all lanes.
struct Point {
  std::map<int, llvm::Value*> axes;  // the coordinate (i64) of each axis id; for the lane axis, that of lane 0
  int lane_axis = -1;
  int lanes = 1;
  llvm::Value* mask = nullptr;         // active lanes (<lanes x i1>, or i1); null: all. Inactive lanes touch no memory
  llvm::Value* accumulator = nullptr;  // for an epilogue: the contraction's sum, scalar or vector
  std::map<int, llvm::Value*> locals;  // results of reduce stages, scalars
  std::map<const ExprNode*, llvm::Value*> known;  // sub-expressions that have been evaluated already
};

/// True if the elements of the lanes lie in so few registers that loading these whole and shuffling is cheaper than a
/// load per lane.
inline bool is_interleaving(const Dim& stride) {
  return stride.is_constant() && stride.constant() >= 2 && stride.constant() <= 4;
}

/// Evaluates expressions over the operands of the kernel that `f` builds. Sub-expressions met twice within one call of
/// evaluate or store are computed once.
class ExprEmitter {
 public:
  explicit ExprEmitter(FunctionBuilder& f) : f_(f) {}

  llvm::Value* evaluate(const Expr& e, const Point& point);
  /// operand[index] = value at the point's active lanes. A scalar value is stored to every lane.
  void store(int operand, const std::vector<Expr>& index, llvm::Value* value, const Point& point);
  /// Stores evaluate(value, point) in the same way.
  void store(int operand, const std::vector<Expr>& index, const Expr& value, const Point& point);

  /// Stores several values interleaved: lane j of values[i] goes to element j * values.size() + i after the
  /// point.
  void store_interleaved(int operand, const std::vector<Expr>& index, const std::vector<llvm::Value*>& values,
                         const Point& point);

  /// Prefetches cache lines `ahead` bytes after the elements that a store at the point's lanes writes, if these
  /// elements are contiguous.
  void fetch_to_store(int operand, const std::vector<Expr>& index, int64_t ahead, const Point& point);

 private:
  FunctionBuilder& f_;
};

}  // namespace gcg::cpu
