// Rows of one element each, such as a column of a Concat, if only a run knows that they are so short.
#pragma once

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

/// Copies of several neighbouring rows along `run`. Their elements are loaded as one vector and stored one by one. A
/// loop of one load and one store takes up to twice as long.
class SingleElements {
 public:
  SingleElements(const Kernel& kernel, const StagePlan& plan, const Axis& run);

  /// The number of rows that emit() takes; 1 if rows are not copied like this.
  int together() const { return value_ ? 8 : 1; }
  /// Stores the element `at` of `count` rows. `point` is the first row.
  void emit(FunctionBuilder& f, const Point& point, llvm::Value* at, int count) const;

 private:
  const StagePlan& plan_;
  const Axis& run_;
  Expr value_;  // the load, simplified for rows of one element; null: there is none
};

}  // namespace gcg::cpu
