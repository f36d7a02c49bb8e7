// What one step of a contraction does to a vector of 32-bit sums.
//
// A step multiplies words of 32 bits: one f32 of each operand, or a quad, four neighbouring 8-bit integers along k,
// unsigned on the left and signed on the right, whose products are all added; or a pair of 16-bit integers, or of bf16.
// So a contraction of bytes is one of floats with another multiply-add: strides, tiles and panels are the same when
// counted in words.
//
// Quads are exact everywhere. VPMADDUBSW, which adds pairs of products in 16 bits, is so only for right operands known
// to be narrow. Without it and without VNNI the even and odd bytes are widened to pairs of 16 bits and multiplied one
// after the other (a step of two parts). Where operands are used often enough, each thread widens them once, into its
// scratch memory, to pairs.
//
// Pairs of bf16 are made of factors that a model stores as f32 on the left and as bf16 on the right, whose rows k and
// k + 1 are interleaved. VDPBF16PS adds the two products to the sum one after the other, each rounded to nearest even,
// and takes denormal factors and sums for zero.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "codegen/cpu/llvm/cpu_target.h"

namespace gcg::cpu {

enum class Multiply : uint8_t {
  floats,
  quads,          // VPDPBUSD
  narrow_quads,   // VPMADDUBSW; pairs of products fit into 16 bits
  widened_quads,  // VPMADDWD on x86, plain multiplications elsewhere
  pairs,          // the same of operands that are 16-bit integers in memory
  halves,         // VDPBF16PS: pairs of bf16
};

/// How the target multiplies operands whose left one has this type (f32 or u8). `narrow`: |w0| + |w1| <= 128 for the
/// first and for the last two of each quad on the right.
Multiply multiply_of(const CpuTarget& target, DType left, bool narrow = false);

inline bool sums_floats(Multiply m) { return m == Multiply::floats || m == Multiply::halves; }

class DotProduct {
 public:
  DotProduct(llvm::IRBuilder<>& ir, Multiply multiply) : ir_(ir), multiply_(multiply) {}

  /// Elements along k in a word; parts of a step.
  static int64_t elements(Multiply m) {
    return m == Multiply::floats ? 1 : m == Multiply::pairs || m == Multiply::halves ? 2 : 4;
  }
  static int parts(Multiply m) { return m == Multiply::widened_quads ? 2 : 1; }
  int parts() const { return parts(multiply_); }

  /// The type of words and sums.
  llvm::Type* word() { return sums_floats(multiply_) ? ir_.getFloatTy() : static_cast<llvm::Type*>(ir_.getInt32Ty()); }
  /// What add() takes for one part of a step, from words in memory. With widened quads also what pairs are made of.
  llvm::Value* left(llvm::Value* words, int part);
  llvm::Value* right(llvm::Value* words, int part);
  /// sum + left * right, for vectors.
  llvm::Value* add(llvm::Value* left, llvm::Value* right, llvm::Value* sum);
  llvm::Value* add_sums(llvm::Value* a, llvm::Value* b);

 private:
  llvm::Value* add_pairs(llvm::Value* left, llvm::Value* right, llvm::Value* sum);

  llvm::IRBuilder<>& ir_;
  Multiply multiply_;
};

/// Words of pairs of bf16: of f32 that lie one after the other, `first` before `second`, rounded to nearest even; of
/// one vector of f32; and of bf16 of one row and the next, as their bits.
llvm::Value* narrowed_pairs(llvm::IRBuilder<>& ir, llvm::Value* first, llvm::Value* second);
llvm::Value* narrowed(llvm::IRBuilder<>& ir, llvm::Value* floats);
llvm::Value* interleaved_pairs(llvm::IRBuilder<>& ir, llvm::Value* row, llvm::Value* next_row);

/// Makes every sum so far a value that nothing sees through, in the register where it is. Without it additions are put
/// into another order and k steps mixed, which takes more registers than there are, and accumulators are spilled.
void fence(llvm::IRBuilder<>& ir, std::vector<llvm::Value*>& sums);

}  // namespace gcg::cpu
