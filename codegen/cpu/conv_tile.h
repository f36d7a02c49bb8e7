// The reduction of one register tile of a convolution: LLVM IR that leaves `pixels` x `vectors` sums in registers.
#pragma once

#include <optional>

#include "codegen/cpu/conv_plan.h"
#include "codegen/cpu/function_builder.h"

namespace gcg::cpu {

/// Half-open range of run-time values.
struct ValueRange {
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
};

/// Where a tile lies.
struct TilePlace {
  llvm::Value* input = nullptr;     // address of the element that kernel element (0, 0) of the first pixel meets
  llvm::Value* weights = nullptr;   // the group's panel
  llvm::Value* prefetch = nullptr;  // address in the next panel where this tile's share of lines begins; null: none
  /// Kernel rows inside the map, for a tile of one row whose shape does not say.
  std::optional<ValueRange> kh;
  /// The same for the columns, of a tile of one pixel.
  std::optional<ValueRange> kw;
};

/// Strides of the input and of the weights, in words (dot_product.h): floats, or four channels of bytes.
struct ConvLayout {
  int64_t channels = 16;         // words that lie side by side in the input: 16 floats, 4 quads, or 1 float when it is NCHW
  int64_t depth = 0;             // words along all input channels
  llvm::Value* image = nullptr;  // input, image to image
  llvm::Value* block = nullptr;  // input, channel block to channel block
  llvm::Value* row = nullptr;    // input, row to row
  int64_t weight_columns = 32;   // weights, kernel element and input channel to the next; depthwise: 16
};

ConvLayout conv_layout(FunctionBuilder& f, const ConvKernel& conv, Multiply multiply);

/// Words of one group panel of dense weights.
int64_t panel_words(const ConvKernel& conv, Multiply multiply);

/// Sums [pixel][vector] of a dense convolution for `vectors` vectors of output channels.
FunctionBuilder::Values reduce_dense(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan,
                                     const ConvLayout& layout, const TileShape& shape, int64_t vectors,
                                     const TilePlace& place);

/// Sums [pixel] of a depthwise convolution for one vector of channels.
FunctionBuilder::Values reduce_depthwise(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan,
                                         const ConvLayout& layout, const TileShape& shape, const TilePlace& place);

/// `base` + `offset` words; may point outside the operand as long as it is not read.
llvm::Value* word_address(FunctionBuilder& f, llvm::Value* base, llvm::Value* offset);

}  // namespace gcg::cpu
