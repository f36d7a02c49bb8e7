// Products through AMX's tiles: the sums of up to 48 rows by 16 columns stay in three tiles over the whole k loop.
//
// A k step is 64 bytes of each row of A, 16 words of four bytes or of two bf16, and the same 16 rows of words of a
// panel of B, which is packed as for VPDPBUSD and VDPBF16PS. TDPBUSD and TDPBF16PS multiply 16x16 words by 16x16 in 16
// cycles and give their sum after 52; a tile is loaded in 8. So three tiles of A by one of B need 32 cycles of loading
// beside 48 of multiplying, and wait 4 for their sums.
//
// Bytes give the sums of VPDPBUSD. Of pairs of bf16 TDPBF16PS adds a step's even products, and its odd ones, each
// rounded to nearest even and fused as multiply-adds, then both together, then that to the sum: a depth of K is rounded
// 16 times less often in the sum itself than by VDPBF16PS. Factors and sums below 2^-126 count as zero, as there.
#pragma once

#include "codegen/cpu/contractions/dot_product.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

struct TileKernel {
  static constexpr int64_t block = 16;              // rows of a tile, and words of a row
  static constexpr int most_rows = 3 * int{block};  // of A
  static constexpr int64_t least_rows = 5;          // with fewer vectors are faster
  static constexpr int64_t state_bytes = 64;

  Multiply multiply = Multiply::quads;  // or halves
  bool accumulate = false;              // C += instead of C =
  int64_t columns = 48;                 // of a panel: words from one row of B, or of C, to the next
};

/// Operands of one call: C[rows][16] (words) = A[rows][k] * B[k][16].
struct TileOperands {
  llvm::Value* a = nullptr;
  llvm::Value* a_row_stride = nullptr;  // bytes
  llvm::Value* b = nullptr;
  llvm::Value* k = nullptr;  // words; a multiple of 16 for halves
  llvm::Value* c = nullptr;
  llvm::Value* rows = nullptr;      // 1 to most_rows
  llvm::Value* prefetch = nullptr;  // as in micro_kernel
  llvm::Value* prefetch_lines = nullptr;
  llvm::Value* prefetch_mask = nullptr;
};

/// The tiles' configuration in the stack frame of a function that uses them: begun before their first use and released
/// after the last.
class TileState {
 public:
  explicit TileState(FunctionBuilder& f) : f_(f) {}
  void begin();
  void release();
  void multiply(const TileKernel& kernel, const TileOperands& operands);

 private:
  FunctionBuilder& f_;
  llvm::AllocaInst* memory_ = nullptr;
};

}  // namespace gcg::cpu
