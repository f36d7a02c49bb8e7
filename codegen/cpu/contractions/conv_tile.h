// The reduction of one register tile of a convolution: LLVM IR that leaves `pixels` x `vectors` sums in registers.
#pragma once

#include <functional>
#include <optional>

#include "codegen/cpu/contractions/conv_plan.h"
#include "codegen/cpu/contractions/index_arithmetic.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Where a tile lies.
struct TilePlace {
  llvm::Value* input = nullptr;     // address of the element that kernel element (0, 0, 0) of the first pixel meets
  llvm::Value* weights = nullptr;   // the group's panel
  llvm::Value* prefetch = nullptr;  // address in the next panel where this tile's share of lines begins; null: none
  ValueRange kd;                    // kernel planes inside the map
  ValueRange units;                 // of the depth, for a dense tile
  FunctionBuilder::Values sums;     // what a dense tile begins with; none: zeros
  /// Kernel rows inside the map, for a tile of one row whose shape does not say.
  std::optional<ValueRange> kh;
  /// The same for the columns: of a tile whose pixels all lack the same, or those inside for some pixel of a clipped
  /// tile.
  std::optional<ValueRange> kw;
  /// Of a clipped tile, whose pixels differ in the taps that are inside: the input column that tap 0 of its first pixel
  /// meets.
  llvm::Value* column = nullptr;
};

/// Strides of the input and of the weights, in words: what a multiply-add takes of each, floats or quads of bytes
/// (dot_product.h); single bytes where each lane has channels of its own. Weights may be floats of 16 bits.
struct ConvLayout {
  llvm::Type* word = nullptr;
  DType weights = DType::f32;    // of floats in memory
  int64_t channels = 16;         // words that lie side by side in the input: a block's, or 1 when it is NCHW
  int64_t depth = 0;             // words along the input channels of a group
  llvm::Value* image = nullptr;  // input, image to image
  llvm::Value* block = nullptr;  // input, channel block to channel block
  llvm::Value* plane = nullptr;  // input, plane to plane
  llvm::Value* row = nullptr;    // input, row to row
  int64_t weight_columns = 32;   // weights, kernel element and input channel to the next
};

ConvLayout conv_layout(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan);

/// Sums [pixel][vector] of a dense convolution for `vectors` vectors of output channels. (conv_dense.cpp)
FunctionBuilder::Values reduce_dense(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan,
                                     const ConvLayout& layout, const TileShape& shape, int64_t vectors,
                                     const TilePlace& place);

/// Sums [pixel] of a depthwise convolution for one vector of channels. `place.weights`: of that vector.
/// (conv_depthwise.cpp)
FunctionBuilder::Values reduce_depthwise(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan,
                                         const ConvLayout& layout, const TileShape& shape, const TilePlace& place);

/// Sums [pixel] for one vector of output channels of groups that are not whole blocks. `place.input` is in the image's
/// first channel block, `place.weights` are those of the vector, `channel` is its first output channel.
/// (conv_lanes.cpp)
FunctionBuilder::Values reduce_by_lane(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan,
                                       const ConvLayout& layout, const TileShape& shape, const TilePlace& place,
                                       llvm::Value* channel);

// ---- shared by the reductions

/// A for loop that is none when there is known to be one iteration, or none at all.
FunctionBuilder::Values loop(
    FunctionBuilder& f, ValueRange range, int64_t step, FunctionBuilder::Values initial,
    const std::function<FunctionBuilder::Values(llvm::Value*, const FunctionBuilder::Values&)>& body);

llvm::Value* zero_sum(FunctionBuilder& f, const ConvPlan& plan);
/// The same value, but nothing sees through it: LLVM's loop strength reduction would otherwise weigh some sixty
/// addresses against each other, and take four times as long as everything else; and what is loaded twice to spare
/// registers would be loaded once.
llvm::Value* opaque(FunctionBuilder& f, llvm::Value* value, bool in_order = false);
/// A block of zeros.
llvm::Value* zeros(FunctionBuilder& f);
llvm::Value* times(FunctionBuilder& f, llvm::Value* value, int64_t factor);
llvm::Value* multiply_add(FunctionBuilder& f, llvm::Value* a, llvm::Value* b, llvm::Value* sum);
/// A vector of f32.
llvm::Value* load_vector(FunctionBuilder& f, llvm::Value* address, int64_t lanes);
void store_vector(FunctionBuilder& f, llvm::Value* vector, llvm::Value* address);

/// For each pixel of a clipped tile what it reads at tap `kw`: its place in the row at `input`, or zeros where that is
/// outside.
FunctionBuilder::Values clipped_places(FunctionBuilder& f, const ConvKernel& conv, const ConvLayout& layout,
                                       const TileShape& shape, const TilePlace& place, llvm::Value* input,
                                       llvm::Value* kw);

/// `base` + `offset` words; may point outside the operand as long as it is not read.
llvm::Value* word_address(FunctionBuilder& f, const ConvLayout& layout, llvm::Value* base, llvm::Value* offset);
/// The same for weights; a vector of them as floats or quads.
llvm::Value* weight_address(FunctionBuilder& f, const ConvLayout& layout, llvm::Value* base, llvm::Value* offset);
llvm::Value* load_weights(FunctionBuilder& f, const ConvLayout& layout, llvm::Value* address, int64_t lanes);

}  // namespace gcg::cpu
