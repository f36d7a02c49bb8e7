// Covers a row of output pixels, whose length is known at run time, with tiles.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/cpu/contractions/conv_plan.h"
#include "codegen/cpu/contractions/index_arithmetic.h"

namespace gcg::cpu {

/// The taps of a tile whose pixels may miss different taps, as in TilePosition. No value: all pixels miss the same
/// ones.
struct ClippedColumns {
  std::optional<ValueRange> kw;
  llvm::Value* first = nullptr;
};

/// Emits a row. It has one tile at the left border and one at the right, which omit the taps outside, if there is room
/// for them. Between them are tiles that miss no tap, large ones first. Clipped tiles cover the rest.
class ConvRow : IndexArithmetic {
 public:
  /// Emits one tile at output column `pixel`.
  using EmitTile = std::function<void(const TileAxis& columns, llvm::Value* pixel, const ClippedColumns& clipped)>;

  ConvRow(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan)
      : IndexArithmetic(f), f_(f), conv_(conv), plan_(plan), right_border_(find_right_border()) {}

  /// `vectors`: vectors of output channels.
  void emit(llvm::Value* begin, llvm::Value* end, int64_t vectors, const EmitTile& tile);
  /// Emits pixels [begin, end) that all have the taps `kw` of a kernel row.
  void emit_alike(llvm::Value* begin, llvm::Value* end, int64_t vectors, const ValueRange& kw, const EmitTile& tile);
  /// The taps of a kernel row that lie inside the map for column `pixel`.
  ValueRange columns_of(llvm::Value* pixel);

 private:
  std::optional<int64_t> find_right_border() const;
  std::vector<int64_t> border_tiles() const;
  llvm::Value* tile_if(llvm::Value* condition, llvm::Value* begin, const TileAxis& tile, const EmitTile& emit);
  llvm::Value* left_tile(llvm::Value* begin, llvm::Value* inner_end, int64_t border, const EmitTile& emit);
  llvm::Value* right_tile_begin(llvm::Value* begin, llvm::Value* end);
  void right_tile(llvm::Value* begin, llvm::Value* end, const EmitTile& emit);
  RunCover cover_of(int64_t largest_tile, int64_t vectors) const;
  llvm::Value* cover(llvm::Value* begin, llvm::Value* end, const RunCover& cover,
                     const std::function<void(llvm::Value* pixel, int64_t pixels)>& emit);
  llvm::Value* clipped_pixels(llvm::Value* begin, llvm::Value* end, int64_t vectors, const EmitTile& emit);
  void clipped_tile(llvm::Value* pixel, int64_t pixels, const EmitTile& emit);

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPlan& plan_;
  const std::optional<int64_t> right_border_;  // pixels at the row's end whose last taps fall outside
};

}  // namespace gcg::cpu
