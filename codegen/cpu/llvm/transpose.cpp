// Shuffles are cheapest within blocks of 16 bytes. So the elements inside blocks are transposed first, by interleaving
// (unpack instructions). Then the blocks are transposed, by taking even and odd ones (one shuffle each).
#include "codegen/cpu/llvm/transpose.h"

#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using llvm::Value;
using Rows = std::vector<Value*>;

/// Interleaves runs of `width` elements of a and b within each block of `block` elements, from its low or high half.
Value* unpack(FunctionBuilder& f, Value* a, Value* b, int block, int width, bool high) {
  const int lanes = FunctionBuilder::lanes_of(a);
  std::vector<int> mask;
  for (int base = 0; base < lanes; base += block)
    for (int run = 0; run < block / (2 * width); ++run)
      for (int source : {0, lanes})
        for (int k = 0; k < width; ++k) mask.push_back(source + base + (high ? block / 2 : 0) + run * width + k);
  return f.ir().CreateShuffleVector(a, b, mask);
}

/// Transposes groups of `block` rows inside each block: in each block, result[group + q] holds column q of the group.
Rows transpose_inside(FunctionBuilder& f, Rows rows, int block) {
  for (int width = 1; width < block; width *= 2) {
    Rows next(rows.size());
    for (size_t group = 0; group < rows.size(); group += static_cast<size_t>(block))
      for (int pair = 0; pair < block / 2; ++pair) {
        // Combines rows whose numbers differ in the bit `width`. The high half becomes the next bit of the column
        // number.
        const int low_bits = pair % width, high_bits = pair / width;
        const auto a = group + static_cast<size_t>(high_bits * 2 * width + low_bits);
        const auto b = a + static_cast<size_t>(width);
        next[a] = unpack(f, rows[a], rows[b], block, width, false);
        next[b] = unpack(f, rows[a], rows[b], block, width, true);
      }
    rows = std::move(next);
  }
  return rows;
}

/// The even (or odd) blocks of a, then those of b.
Value* pick_blocks(FunctionBuilder& f, Value* a, Value* b, int block, int odd) {
  const int lanes = FunctionBuilder::lanes_of(a);
  std::vector<int> mask;
  for (int source : {0, lanes})
    for (int base = odd * block; base < lanes; base += 2 * block)
      for (int k = 0; k < block; ++k) mask.push_back(source + base + k);
  return f.ir().CreateShuffleVector(a, b, mask);
}

/// Block m of rows[g] becomes block g of result[m].
Rows transpose_blocks(FunctionBuilder& f, const Rows& rows, int block) {
  if (rows.size() == 1) return rows;
  Rows halves[2];
  for (int odd : {0, 1}) {
    for (size_t g = 0; g < rows.size(); g += 2) halves[odd].push_back(pick_blocks(f, rows[g], rows[g + 1], block, odd));
    halves[odd] = transpose_blocks(f, halves[odd], block);
  }
  Rows result;
  for (size_t m = 0; m < halves[0].size(); ++m) {
    result.push_back(halves[0][m]);
    result.push_back(halves[1][m]);
  }
  return result;
}

/// After the `unpack` steps, column q of a group is in the row whose number has the bits of q in reverse order.
int reversed_bits(int q, int block) {
  int result = 0;
  for (int bit = 1; bit < block; bit *= 2) {
    result = result * 2 + (q & 1);
    q >>= 1;
  }
  return result;
}

}  // namespace

std::vector<llvm::Value*> emit_transpose(FunctionBuilder& f, const std::vector<llvm::Value*>& rows) {
  const int lanes = FunctionBuilder::lanes_of(rows[0]);
  const int block = 128 / static_cast<int>(rows[0]->getType()->getScalarSizeInBits());
  GCG_CHECK(static_cast<int>(rows.size()) == lanes && lanes % block == 0, "a tile of ", rows.size(), " rows of ", lanes,
            " lanes");
  const Rows inside = transpose_inside(f, rows, block);
  Rows result(rows.size());
  for (int q = 0; q < block; ++q) {
    Rows column;
    for (size_t group = 0; group < rows.size(); group += static_cast<size_t>(block))
      column.push_back(inside[group + static_cast<size_t>(reversed_bits(q, block))]);
    column = transpose_blocks(f, column, block);
    for (size_t m = 0; m < column.size(); ++m)
      result[m * static_cast<size_t>(block) + static_cast<size_t>(q)] = column[m];
  }
  return result;
}

}  // namespace gcg::cpu
