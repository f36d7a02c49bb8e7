// The layout of rows of f32 as integers for products by low-bit integers (block_integers).
#pragma once

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/packing.h"

namespace gcg::cpu {

/// The layout of a row of A as integers: bytes from the uppermost to the lowest, then numbers for each block: a scale
/// and sums. Bytes that are multiplied by the bytes of one word are adjacent. Let e be the number of elements in a
/// byte. VNNI group j of a word has the elements j, j + e, j + 2e, j + 3e of its rows.
struct IntegerRowLayout {
  explicit IntegerRowLayout(const BlockPacking& packing);

  int64_t parts() const { return packing_.exact ? 3 : 2; }
  int64_t bytes() const { return large() + (packing_.exact ? row / 8 : 0); }
  /// The bytes of one part; part 0 is the uppermost.
  int64_t part(int64_t p) const { return p * row; }
  int64_t scales() const { return parts() * row; }
  /// Offset of the sums of each block's integers, in f32.
  int64_t sums() const { return scales() + numbers * 4; }
  /// Offset of the start values for the sums of a part's products with unsigned weights, in i32. A start value is the
  /// negative product of the middle of the weights' range and the sum of the part's bytes.
  int64_t starts(int64_t p) const { return sums() + (p + 1) * numbers * 4; }
  /// With `exact`, the offset of one bit for each element, in 64-bit words. The bit is set if the element is much
  /// larger than others; its integer is then 0.
  int64_t large() const { return starts(parts() - 1) + numbers * 4; }
  int64_t vnni_groups() const { return 8 / packing_.bits; }
  /// The number of blocks of A per block of the weights.
  int64_t per_weights_block() const { return packing_.blocks() == 1 ? blocks : packing_.block / block; }

  static constexpr int kLanes = 16;

  int64_t block = 0, blocks = 0;  // rows of a block of A, and the number of blocks of A
  int64_t row = 0;                // bytes of a part
  int64_t numbers = 0;            // scales, with room

 private:
  const BlockPacking& packing_;
};

inline llvm::Value* at_byte(FunctionBuilder& f, llvm::Value* base, llvm::Value* offset) {
  return f.element_address(base, DType::i8, offset);
}

/// Emits the conversion of the row at `a` to its IntegerRowLayout at `to`.
void emit_integer_row(FunctionBuilder& f, const BlockPacking& packing, llvm::Value* a, llvm::Value* to);

}  // namespace gcg::cpu
