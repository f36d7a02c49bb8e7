// Products through AMX's tiles: the sums of up to 32 rows by 48 columns stay in six tiles over the whole k loop.
//
// A k step takes 64 bytes of each row of A: 16 words of four bytes or of two bf16. It also takes the same 16 rows of
// words of a panel of B. The panel is packed as for VPDPBUSD and VDPBF16PS. TDPBUSD and TDPBF16PS multiply 16x16 words
// by 16x16 in 16 cycles, and an instruction may add to the result of the one before it. Loading a tile takes 8 cycles
// from L1 and 20 from L2, and five times as long if its rows are not aligned to lines. Two tiles of A by three of B
// take 96 cycles of multiplication. Their 7 loads take 52 cycles from L1, and 100 at worst. With three tiles of A by
// one of B, each tile is used less often, and loads from L2 limited the speed.
//
// Bytes give the sums of VPDPBUSD. For pairs of bf16, TDPBF16PS adds a step's even products, and separately its odd
// ones, as fused multiply-adds rounded to nearest even. It then adds the two results, and adds their total to the sum.
// So at a depth of K the sum itself is rounded 16 times less often than by VDPBF16PS. Factors and sums below 2^-126
// count as zero, as with VDPBF16PS.
#pragma once

#include "codegen/cpu/contractions/dot_product.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

struct TileKernel {
  static constexpr int64_t block = 16;              // rows of a tile, and words of a row
  static constexpr int most_rows = 2 * int{block};  // most rows of A
  static constexpr int64_t least_rows = 5;          // for fewer rows, vectors are faster
  static constexpr int64_t state_bytes = 64;

  Multiply multiply = Multiply::bytes;  // or halves
  bool accumulate = false;              // C += instead of C =
  int vectors = 3;                      // number of vectors of 16 columns of the panel
  int64_t columns = 48;                 // columns of a panel: words from one row of B, or of C, to the next
};

/// Operands of one call: C[rows][16 * vectors] (words) = A[rows][k] * B[k][16 * vectors].
struct TileOperands {
  llvm::Value* a = nullptr;             // in whole steps; words past k only matter where B's row is not zero
  llvm::Value* a_row_stride = nullptr;  // bytes
  llvm::Value* b = nullptr;
  /// The 16 rows of B for a last step that is not whole, with zeros after k; null if k is a multiple of 16.
  llvm::Value* last_b = nullptr;
  llvm::Value* k = nullptr;  // words
  llvm::Value* c = nullptr;
  llvm::Value* rows = nullptr;      // the number given to TileState::set_rows, or one less
  llvm::Value* prefetch = nullptr;  // as in micro_kernel
  llvm::Value* prefetch_lines = nullptr;
  llvm::Value* prefetch_mask = nullptr;
};

/// The tiles' configuration in the stack frame of a function that uses them. Call begin() before their first use and
/// release() after their last.
class TileState {
 public:
  explicit TileState(FunctionBuilder& f) : f_(f) {}
  void begin();
  /// Sets the largest number of rows of the products that follow. Must be called where it dominates them. If the number
  /// is at most 16, every product must have exactly this many rows. Otherwise every product, also the product of the
  /// last row tile, must have at least half as many.
  void set_rows(llvm::Value* most);
  void release();
  void multiply(const TileKernel& kernel, const TileOperands& operands);

 private:
  FunctionBuilder& f_;
  llvm::AllocaInst* memory_ = nullptr;
  llvm::Value* blocks_ = nullptr;  // tiles of rows
  llvm::Value* height_ = nullptr;  // number of rows of each of these tiles
};

/// Copies the last `count` (fewer than 16) rows of words of a panel, `columns` wide, and adds zeros up to 16.
void emit_last_rows(FunctionBuilder& f, llvm::Value* from, llvm::Value* count, int64_t columns, llvm::Value* to);

}  // namespace gcg::cpu
