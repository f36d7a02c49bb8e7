// The common part of the register tiles for products by low-bit integers (block_weights, block_integers).
#pragma once

#include <functional>
#include <string>

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// The number of panel vectors in a tile: as many as leave registers for its `sums` sums per vector.
int vectors_together(const CpuTarget& target, int sums, int panel_vectors);

/// The packing's name within names of shared functions.
std::string name_of(const BlockPacking& packing);

/// A tile of `rows` rows of A by `vectors` vectors of a panel's columns; the panel has `columns` columns.
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

  /// Stores into `sums` the result of add_block(number, its rows, totals so far) over all blocks of `block` rows. The
  /// last block may have fewer rows.
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
