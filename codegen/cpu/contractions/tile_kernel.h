// Products through AMX's tiles: the sums of up to 32 rows by 48 columns stay in six tiles over the whole k loop.
//
// A k step is 64 bytes of each row of A, 16 words of four bytes or of two bf16, and the same 16 rows of words of a
// panel of B, which is packed as for VPDPBUSD and VDPBF16PS. TDPBUSD and TDPBF16PS multiply 16x16 words by 16x16 in 16
// cycles, and one may add to what the one before it gives. A tile is loaded in 8 cycles from L1 and in 20 from L2, five
// times slower where its rows are not aligned to lines. Two tiles of A by three of B are 96 cycles of multiplying
// beside 7 loads, of 52 cycles out of L1 and 100 at worst; three by one, in which each is used less often, waited for
// L2.
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
  static constexpr int most_rows = 2 * int{block};  // of A
  static constexpr int64_t least_rows = 5;          // with fewer vectors are faster
  static constexpr int64_t state_bytes = 64;

  Multiply multiply = Multiply::quads;  // or halves
  bool accumulate = false;              // C += instead of C =
  int vectors = 3;                      // of 16 columns of the panel
  int64_t columns = 48;                 // of a panel: words from one row of B, or of C, to the next
};

/// Operands of one call: C[rows][16 * vectors] (words) = A[rows][k] * B[k][16 * vectors].
struct TileOperands {
  llvm::Value* a = nullptr;             // whole steps: of the last one what is past k counts if B's row is not zero
  llvm::Value* a_row_stride = nullptr;  // bytes
  llvm::Value* b = nullptr;
  /// The 16 rows of B of a last step that is not whole, zeros past k; null where k is a multiple of 16.
  llvm::Value* last_b = nullptr;
  llvm::Value* k = nullptr;  // words
  llvm::Value* c = nullptr;
  llvm::Value* rows = nullptr;      // as many as TileState::set_rows was told, or one less
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
  /// To be said where it dominates the products that follow: how many rows they have at most. Of up to 16 rows that is
  /// all, of more at least half of it is a product's last row tile, too.
  void set_rows(llvm::Value* most);
  void release();
  void multiply(const TileKernel& kernel, const TileOperands& operands);

 private:
  FunctionBuilder& f_;
  llvm::AllocaInst* memory_ = nullptr;
  llvm::Value* blocks_ = nullptr;  // tiles of rows
  llvm::Value* height_ = nullptr;  // rows of each
};

/// Copies the last `count` (fewer than 16) rows of words of a panel, `columns` wide, and adds zeros up to 16.
void emit_last_rows(FunctionBuilder& f, llvm::Value* from, llvm::Value* count, int64_t columns, llvm::Value* to);

}  // namespace gcg::cpu
