// Cuts the rows of a product into tiles if only a run knows their number.
#pragma once

#include "codegen/cpu/contractions/index_arithmetic.h"

namespace gcg::cpu {

/// The heights of the tiles differ by at most one; the first tiles are the taller ones.
class RowTiles {
 public:
  /// Must be constructed where it dominates all uses.
  RowTiles(FunctionBuilder& f, const Dim& rows, const Dim& tiles)
      : f_(f), index_(f), height_(f.dim(floor_div(rows, max(tiles, 1)))), taller_(f.dim(mod(rows, max(tiles, 1)))) {}

  /// The first row of a tile, or the row after the last tile.
  llvm::Value* first(llvm::Value* tile) { return index_.add(index_.mul(tile, height_), index_.min(tile, taller_)); }
  llvm::Value* height(llvm::Value* tile) { return one_more_if(f_.ir().CreateICmpSLT(tile, taller_)); }
  llvm::Value* greatest_height() { return one_more_if(f_.ir().CreateICmpSGT(taller_, f_.i64(0))); }

 private:
  llvm::Value* one_more_if(llvm::Value* is_taller) {
    return index_.add(height_, f_.ir().CreateZExt(is_taller, f_.ir().getInt64Ty()));
  }

  FunctionBuilder& f_;
  IndexArithmetic index_;
  llvm::Value* height_;
  llvm::Value* taller_;
};

}  // namespace gcg::cpu
