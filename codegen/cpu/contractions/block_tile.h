// What the register tiles of products by integers of few bits have in common (block_weights, block_integers).
#pragma once

#include <functional>
#include <string>

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// Vectors of a panel that a tile takes at a time: as many as leave its `sums` registers for each of them.
int vectors_together(const CpuTarget& target, int sums, int panel_vectors);

/// In names of shared functions.
std::string name_of(const BlockPacking& packing);

/// `rows` rows of A by `vectors` vectors of columns of a panel, of `columns` in all.
class PanelTile {
 protected:
  using Values = FunctionBuilder::Values;

  PanelTile(FunctionBuilder& f, const BlockPacking& packing, int64_t columns, int lanes, int rows, int vectors)
      : f_(f),
        packing_(packing),
        columns_(columns),
        lanes_(lanes),
        rows_(static_cast<size_t>(rows)),
        vectors_(static_cast<size_t>(vectors)) {}

  /// Stores into `sums` what add_block(number, its rows, totals so far) makes of all blocks of `block` rows, of which
  /// the last may have fewer.
  void add_blocks(int64_t block, llvm::Value* sums,
                  const std::function<Values(llvm::Value*, int64_t, Values)>& add_block);
  Values zeros(DType type, size_t count) { return Values(count, llvm::Constant::getNullValue(f_.type(type, lanes_))); }
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    return f_.ir().CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  }
  /// Vector `v` of a line of the panel's columns.
  llvm::Value* vector_at(llvm::Value* base, DType type, llvm::Value* line, size_t v);

  FunctionBuilder& f_;
  const BlockPacking& packing_;
  int64_t columns_;
  int lanes_;
  size_t rows_, vectors_;
};

}  // namespace gcg::cpu
