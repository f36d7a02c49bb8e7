// The epilogue of a convolution: applies the epilogue expression to the sums and stores the result.
#pragma once

#include "codegen/cpu/contractions/conv_plan.h"
#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// The sums of one tile, [pixel][vector], and the position of the first.
struct TileResult {
  llvm::Value* image = nullptr;
  llvm::Value* block = nullptr;  // channel block
  llvm::Value* plane = nullptr;
  llvm::Value* row = nullptr;
  llvm::Value* pixel = nullptr;  // in the row
  TileShape shape;
  llvm::Value* first_lane = nullptr;  // the position in the block of the first vector's first lane
  FunctionBuilder::Values sums;
};

/// True if the epilogue uses (row, column) of the map only as row * width + column. Then a tile may run over row ends.
bool epilogue_allows_flat(const Kernel& kernel, const ConvKernel& conv);

class ConvEpilogue {
 public:
  ConvEpilogue(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan);
  void store(const TileResult& tile);

 private:
  struct Pixel {
    llvm::Value *row, *column;  // in the tile
  };
  Point point_of(const TileResult& tile, const Pixel& pixel, int64_t vector);
  llvm::Value* plus(llvm::Value* a, llvm::Value* b);
  void store_pixels(const TileResult& tile, const std::vector<Pixel>& pixels, const FunctionBuilder::Values& sums);
  /// Passes the sums through memory, so that the epilogue's code exists once for all pixels.
  void store_in_loop(const TileResult& tile);

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPlan& plan_;
  ExprEmitter expressions_;
  bool masked_ = false;  // lanes past the last channel must not be touched
  bool is_long_ = false;
};

}  // namespace gcg::cpu
