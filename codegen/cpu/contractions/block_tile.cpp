#include "codegen/cpu/contractions/block_tile.h"

namespace gcg::cpu {

int vectors_together(const CpuTarget& target, int sums, int panel_vectors) {
  constexpr int others = 4;  // registers for words, numbers, an element of A, and a table or offsets
  for (int vectors = panel_vectors; vectors > 1; --vectors)
    if (panel_vectors % vectors == 0 && sums * vectors + others <= target.vector_registers) return vectors;
  return 1;
}

std::string name_of(const BlockPacking& p) {
  return std::to_string(p.bits) + "." + std::to_string(p.block) + "." + std::to_string(p.rows) +
         (p.offsets ? ".o" : "") + (p.exact ? ".e" : "");
}

void PanelTile::add_blocks(int64_t block, llvm::Value* sums,
                           const std::function<Values(llvm::Value*, int64_t, Values)>& add_block) {
  const int64_t whole = packing_.rows / block, rest = packing_.rows % block;
  Values totals =
      f_.for_loop(f_.i64(0), f_.i64(whole), f_.i64(1), zeros(DType::f32, rows_ * vectors_),
                  [&](llvm::Value* number, const Values& so_far) { return add_block(number, block, so_far); });
  if (rest > 0) totals = add_block(f_.i64(whole), rest, totals);
  for (size_t r = 0; r < rows_; ++r)
    for (size_t v = 0; v < vectors_; ++v)
      f_.store(totals[r * vectors_ + v], sums, DType::f32,
               f_.i64(static_cast<int64_t>(r) * columns_ + static_cast<int64_t>(v) * lanes_));
}

llvm::Value* PanelTile::vector_at(llvm::Value* base, DType type, llvm::Value* line, size_t v) {
  llvm::Value* place =
      f_.ir().CreateAdd(f_.ir().CreateMul(line, f_.i64(columns_)), f_.i64(static_cast<int64_t>(v) * lanes_));
  return f_.load(base, type, place, lanes_);
}

}  // namespace gcg::cpu
