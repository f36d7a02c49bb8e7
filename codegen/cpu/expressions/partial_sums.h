// The single order in which kernels add (or multiply) the floats of a reduction. It does not depend on memory layout or
// fusion.
//
// Elements are counted in row-major order of the reduced axes. Element r goes to partial sum r mod 32 (16 for f64), and
// each partial sum adds its elements in order. Then halves are added, sum j + n/2 to sum j, until one sum is left. For
// a reduction along memory, partial sums are lanes. For a reduction across memory, they lie in the stack frame, each
// with as many lanes as there are results.
//
// A partial sum without elements is the identity, so it changes nothing.
#pragma once

#include <functional>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// True if the result of a reduction depends on the order of its elements. (In extrema of floats only the sign of a
/// zero depends on it.)
inline bool depends_on_order(ReduceOp op, DType dtype) {
  return is_float(dtype) && (op == ReduceOp::sum || op == ReduceOp::prod);
}

/// A power of two: as many as fit 128 bytes, which is enough registers to hide the latency of an addition.
inline int partial_sum_count(DType dtype) { return static_cast<int>(128 / size_of(dtype)); }

/// Partial sums in the stack frame, each of `lanes` results.
class PartialSums {
 public:
  PartialSums(FunctionBuilder& f, ReduceOp op, DType dtype, int lanes);
  ~PartialSums();
  PartialSums(const PartialSums&) = delete;
  PartialSums& operator=(const PartialSums&) = delete;

  /// Sets all to the identity.
  void clear();
  /// Combines `v` with the sums from `number` (i64, below the count) on. `v` is one sum of `lanes` results or, if
  /// `lanes` is 1, one sum for each lane of `v`. Lanes outside `mask` keep their value.
  void add(llvm::Value* number, llvm::Value* v, llvm::Value* mask = nullptr);
  /// Combines several elements with each of the same sums, in order.
  void add(llvm::Value* number, int count, const std::function<llvm::Value*(int)>& element);
  /// The same for sums that have no element yet. They need not have been cleared.
  void begin(llvm::Value* number, int count, const std::function<llvm::Value*(int)>& element);
  /// All sums as a vector of count() lanes. Requires that `lanes` is 1.
  llvm::Value* vector();
  void set_vector(llvm::Value* sums);
  /// Folds the first `begun` sums; all sums if `lanes` is 1.
  llvm::Value* total(int64_t begun);
  int count() const { return count_; }
  /// True if total() also reads sums without elements.
  bool reads_all() const { return lanes_ == 1; }

 private:
  llvm::Value* at(llvm::Value* number);
  void add_to(llvm::Value* sum, llvm::Value* offset, int count, const std::function<llvm::Value*(int)>& element);
  llvm::Value* fold(llvm::Value* lane, int lanes, int number, int width, int64_t begun);

  FunctionBuilder& f_;
  ReduceOp op_;
  DType dtype_;
  int lanes_, count_;
  llvm::AllocaInst* memory_;
};

/// Adds the elements of a reduction over `axes` to partial sums, with the loops that are best for it. `element`
/// computes one element, the value of `body`, as `lanes` results, at the axis values set by `at`.
llvm::Value* reduce_in_order(FunctionBuilder& f, ReduceOp op, const Expr& body, int lanes,
                             const std::vector<Axis>& axes, const std::function<void(const Axis&, llvm::Value*)>& at,
                             const std::function<llvm::Value*()>& element);

/// The number of points of the axes, if they are a small constant window that is worth unrolling; otherwise 0.
int64_t window_size(const std::vector<Axis>& axes);

}  // namespace gcg::cpu
