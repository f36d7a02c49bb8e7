// The one order in which kernels add (or multiply) the floats of a reduction, whatever lies where in memory and
// whatever was fused: element r, counted in row-major order of the reduced axes, goes to partial sum r mod 32 (16 of
// f64), each partial sum adds its elements in order, and then halves are added, sum j + n/2 to sum j, until one is
// left. Along memory partial sums are lanes; across it they are in the stack frame, each of as many lanes as there are
// results.
//
// Numbers of sums that no element went to change nothing: they are the identity.
#pragma once

#include <functional>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Does the result of a reduction depend on the order of its elements? (Of floats' extrema only the sign of a zero.)
inline bool depends_on_order(ReduceOp op, DType dtype) {
  return is_float(dtype) && (op == ReduceOp::sum || op == ReduceOp::prod);
}

/// A power of two; 128 bytes' worth, registers enough to hide the latency of an addition.
inline int partial_sum_count(DType dtype) { return static_cast<int>(128 / size_of(dtype)); }

/// Partial sums in the stack frame, each of `lanes` results. At most `elements` come, if that is known.
class PartialSums {
 public:
  PartialSums(FunctionBuilder& f, ReduceOp op, DType dtype, int lanes);
  ~PartialSums();
  PartialSums(const PartialSums&) = delete;
  PartialSums& operator=(const PartialSums&) = delete;

  /// Sets all to the identity.
  void clear();
  /// Combines `v` with the sums from `number` on (i64, below the count): one of `lanes` results, or where `lanes` is 1
  /// one for each lane of `v`. Lanes beyond `mask` stay.
  void add(llvm::Value* number, llvm::Value* v, llvm::Value* mask = nullptr);
  /// Combines several with the same sums, in order.
  void add(llvm::Value* number, int count, const std::function<llvm::Value*(int)>& element);
  /// The same to sums that have no element yet, and need not have been cleared.
  void begin(llvm::Value* number, int count, const std::function<llvm::Value*(int)>& element);
  /// All sums from `number` on as a vector of count, where `lanes` is 1; `number` may be any if all are there twice.
  llvm::Value* vector();
  void set_vector(llvm::Value* sums);
  /// Of the first `begun`; all where `lanes` is 1.
  llvm::Value* total(int64_t begun);
  int count() const { return count_; }
  /// Does the total read sums that have no element?
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

/// Gives the elements of a reduction over `axes` to partial sums, in whatever loops are best; `element` computes the
/// one, which is `body`, at the values that `at` gave the axes, as `lanes` results.
llvm::Value* reduce_in_order(FunctionBuilder& f, ReduceOp op, const Expr& body, int lanes,
                             const std::vector<Axis>& axes, const std::function<void(const Axis&, llvm::Value*)>& at,
                             const std::function<llvm::Value*()>& element);

/// Iterations over the axes if they are a small constant window worth unrolling; 0 otherwise.
int64_t window_size(const std::vector<Axis>& axes);

}  // namespace gcg::cpu
