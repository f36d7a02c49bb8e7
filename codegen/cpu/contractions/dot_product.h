// One step of a contraction on a vector of sums.
//
// A step multiplies words: f64, or 32 bits that are one f32, a VNNI group, a pair of 16-bit integers or a pair of bf16.
// A VNNI group is four neighbouring 8-bit integers along k, whose products are all added. They are unsigned on the left
// and signed on the right. So a contraction of bytes is one of floats with another multiply-add: strides, tiles and
// panels are the same when counted in words.
//
// VNNI groups are exact everywhere. VPMADDUBSW, which adds pairs of products in 16 bits, is exact only for right
// operands known to be narrow. Otherwise, without VNNI, a step has two parts: the even and then the odd bytes are
// widened to pairs of 16 bits and multiplied. If operands are used often enough, each thread widens them once to pairs,
// in its scratch memory.
//
// Pairs of bf16 are made of factors that a model stores as f32 on the left and as bf16 on the right. Rows k and k + 1
// on the right are interleaved. VDPBF16PS adds the two products to the sum one after the other, each rounded to nearest
// even. It treats denormal factors and sums as zero.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "codegen/cpu/llvm/cpu_target.h"

namespace gcg::cpu {

enum class Multiply : uint8_t {
  floats,
  bytes,          // VPDPBUSD; USDOT on aarch64
  signed_bytes,   // SDOT: the left operand is signed, so 128 is subtracted from it and the products with 128 are added
  narrow_bytes,   // VPMADDUBSW; sums of two products fit into 16 bits
  widened_bytes,  // VPMADDWD on x86, plain multiplications elsewhere
  pairs,          // VPMADDWD on operands that are 16-bit integers in memory already
  halves,         // VDPBF16PS: pairs of bf16
  doubles,        // f64
};

/// The target's way to multiply operands whose left one has this type (f32, f64 or u8). `narrow`: |w0| + |w1| <= 128
/// for the first two and the last two weights of each VNNI group on the right.
Multiply multiply_of(const CpuTarget& target, DType left, bool narrow = false);

inline bool sums_floats(Multiply m) { return m == Multiply::floats || m == Multiply::doubles || m == Multiply::halves; }

/// The type of the sums.
inline DType type_of_sums(Multiply m) {
  return m == Multiply::doubles ? DType::f64 : sums_floats(m) ? DType::f32 : DType::i32;
}

class DotProduct {
 public:
  DotProduct(llvm::IRBuilder<>& ir, Multiply multiply) : ir_(ir), multiply_(multiply) {}

  /// elements: number of elements along k in a word. parts: number of parts of a step.
  static int64_t elements(Multiply m) {
    if (m == Multiply::floats || m == Multiply::doubles) return 1;
    return m == Multiply::pairs || m == Multiply::halves ? 2 : 4;
  }
  static int parts(Multiply m) { return m == Multiply::widened_bytes ? 2 : 1; }
  int parts() const { return parts(multiply_); }

  /// The type of words and sums.
  llvm::Type* word() {
    if (multiply_ == Multiply::doubles) return ir_.getDoubleTy();
    return sums_floats(multiply_) ? ir_.getFloatTy() : static_cast<llvm::Type*>(ir_.getInt32Ty());
  }
  /// The argument of add() for one part of a step, made from words in memory. With widened bytes, also the operands
  /// from which pairs are made.
  llvm::Value* left(llvm::Value* words, int part);
  llvm::Value* right(llvm::Value* words, int part);
  /// sum + left * right, for vectors.
  llvm::Value* add(llvm::Value* left, llvm::Value* right, llvm::Value* sum);
  llvm::Value* add_sums(llvm::Value* a, llvm::Value* b);

 private:
  llvm::Value* add_bytes(llvm::Value* left, llvm::Value* right, llvm::Value* sum);
  llvm::Value* add_pairs(llvm::Value* left, llvm::Value* right, llvm::Value* sum);

  llvm::IRBuilder<>& ir_;
  Multiply multiply_;
};

/// Words that are pairs of bf16. narrowed_pairs: from f32 in two consecutive vectors, `first` before `second`, rounded
/// to nearest even. narrowed: from one vector of f32. interleaved_pairs: from bf16 of one row and the next, as their
/// bits.
llvm::Value* narrowed_pairs(llvm::IRBuilder<>& ir, llvm::Value* first, llvm::Value* second);
llvm::Value* narrowed(llvm::IRBuilder<>& ir, llvm::Value* floats);
llvm::Value* interleaved_pairs(llvm::IRBuilder<>& ir, llvm::Value* row, llvm::Value* next_row);

/// Hides the value of every sum so far from LLVM's optimisations; the sum stays in its register. Otherwise LLVM would
/// reorder additions and mix k steps. That takes more registers than there are, so accumulators would be spilled.
void fence(llvm::IRBuilder<>& ir, std::vector<llvm::Value*>& sums);

}  // namespace gcg::cpu
