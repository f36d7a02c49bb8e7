// The register tile of a matrix product: rows x vectors accumulators that stay in registers over the whole k loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/cpu/contractions/dot_product.h"

namespace llvm {
class Function;
class Value;
}  // namespace llvm

namespace gcg::cpu {

class FunctionBuilder;

/// C[rows][vectors*lanes] = sum over k of A[row][k] * B[k][column], where a k step multiplies words (dot_product.h).
/// Strides of B count elements of B, and strides of C count words. Strides of A count elements or, with VNNI groups,
/// bytes. Nullopt: a run-time argument. With widened bytes, A holds results of DotProduct::left, and the parts of a
/// step are adjacent. With pairs of bf16, A holds pairs, and so does B unless `right` is bf16. In that case, a k step
/// reads two rows of bf16.
struct MicroKernel {
  static constexpr int64_t prefetch_period = 4;  // k steps

  int rows = 1;
  int vectors = 1;
  int lanes = 16;
  Multiply multiply = Multiply::floats;
  /// Type of B's elements if they are floats: f16 and bf16 are widened, or interleaved to pairs, as they are loaded.
  DType right = DType::f32;
  std::optional<int64_t> a_row_stride, a_column_stride;
  std::optional<int64_t> b_row_stride;
  int64_t c_row_stride = 0;
  /// Cache lines of `prefetch` to fetch into L2 in every period of k steps; 0: none, nullopt: a run-time argument.
  std::optional<int64_t> prefetch_lines = 0;
  /// Unroll factor along k, which must divide k: loop control competes with multiply-adds for ports. More than one
  /// requires constant strides and a DotProduct of one part. Ignored with several sets of sums.
  int steps = 1;
  /// C += instead of C =.
  bool accumulate = false;
  /// Only the first `tail` lanes of B's last vector exist. The others are not read and give zero columns.
  bool masked = false;

  /// Number of independent accumulator sets along k. With one set, a tile with few accumulators would wait for the
  /// latency of its FMAs. For floats, only the number of rows decides the order of additions, so that this order is the
  /// same in wide and narrow tiles.
  int sets() const {
    if (sums_floats(multiply)) return rows > most_split_rows ? 1 : rows == 1 && lanes >= 16 ? 4 : 2;
    return rows * vectors >= 8 ? 1 : rows * vectors >= 4 ? 2 : 4;
  }
  static constexpr int most_split_rows = 2;  // with more rows, floats have one set of sums
  /// Vector registers in use: the sums, the columns of one k step (memory operands if they are used once) and one
  /// broadcast. Widened columns are never in memory, and a separate instruction adds their products.
  int registers() const {
    const int sums = sets() * rows * vectors;
    if (multiply == Multiply::widened_bytes) return sums + DotProduct::parts(multiply) * vectors + 2;
    if (multiply == Multiply::signed_bytes) return sums + 2 * vectors + 2;  // the columns, and their products with 64
    if (multiply == Multiply::narrow_bytes) return sums + vectors + 2;
    return sums + (rows > 1 ? vectors : size_of(right) < 4 ? 1 : 0) + 1;
  }
};

/// A stride that becomes part of a shared function's code and name; nullopt: a run-time argument.
std::optional<int64_t> constant_of(llvm::Value* stride);
std::string name_of_stride(const std::optional<int64_t>& stride);

/// The function that computes one tile. It ignores stride arguments for which the MicroKernel has constant strides.
///   void tile(const void* a, const void* b, int64_t k, void* c, const void* prefetch, int64_t prefetch_lines,
///             int64_t prefetch_mask, int64_t a_row_stride, int64_t a_column_stride, int64_t b_row_stride, int64_t
///             tail)
/// It prefetches in k steps whose number has no bit of prefetch_mask. The mask is prefetch_period - 1, or -1 to
/// prefetch almost nothing. Kernels share the function (FunctionBuilder::shared_function).
/// C is written whole, aligned to a vector; k may be zero.
llvm::Function* micro_kernel(const MicroKernel& kernel, FunctionBuilder& f);

}  // namespace gcg::cpu
