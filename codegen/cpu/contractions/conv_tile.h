// The reduction of one register tile of a convolution: LLVM IR that leaves `pixels` x `vectors` sums in registers.
#pragma once

#include <functional>
#include <optional>

#include "codegen/cpu/contractions/conv_plan.h"
#include "codegen/cpu/contractions/index_arithmetic.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// The position of a tile.
struct TilePosition {
  llvm::Value* input = nullptr;     // address of the input element at kernel element (0, 0, 0) of the first pixel
  llvm::Value* weights = nullptr;   // the group's panel
  llvm::Value* prefetch = nullptr;  // address in the next panel where this tile's share of lines begins; null: none
  ValueRange kd;                    // kernel planes inside the map
  ValueRange units;                 // part of the depth, for a dense tile
  FunctionBuilder::Values sums;     // initial sums of a dense tile; none: zeros
  /// Kernel rows inside the map, for a tile of one row whose shape does not give them.
  std::optional<ValueRange> kh;
  /// The same for the columns, if all pixels of the tile miss the same taps. For a clipped tile: the taps that lie
  /// inside for some pixel.
  std::optional<ValueRange> kw;
  /// For a clipped tile, whose pixels miss different taps: the input column at tap 0 of its first pixel.
  llvm::Value* column = nullptr;
};

/// Strides of the input and of the weights in words. A word is what one multiply-add takes from each: a float or a VNNI
/// group (dot_product.h). If each lane has its own channels, a word is a single byte. Weights may be 16-bit floats.
struct ConvLayout {
  llvm::Type* word = nullptr;
  DType weights = DType::f32;    // type of float weights in memory
  int64_t channels = 16;         // adjacent words of the input: a block's words, or 1 for NCHW
  int64_t depth = 0;             // words along the input channels of a group
  llvm::Value* image = nullptr;  // stride of the input from image to image
  llvm::Value* block = nullptr;  // stride of the input from channel block to channel block
  llvm::Value* plane = nullptr;  // stride of the input from plane to plane
  llvm::Value* row = nullptr;    // stride of the input from row to row
  int64_t weight_columns = 32;   // stride of the weights from one kernel element and input channel to the next
};

ConvLayout conv_layout(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan);

/// Emits the sums [pixel][vector] of a dense convolution for `vectors` vectors of output channels. (conv_dense.cpp)
FunctionBuilder::Values reduce_dense(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan,
                                     const ConvLayout& layout, const TileShape& shape, int64_t vectors,
                                     const TilePosition& place);

/// Emits the sums [pixel] of a depthwise convolution for one vector of channels. `place.weights` are the weights of
/// that vector. (conv_depthwise.cpp)
FunctionBuilder::Values reduce_depthwise(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan,
                                         const ConvLayout& layout, const TileShape& shape, const TilePosition& place);

/// Emits the sums [pixel] for one vector of output channels, if groups are not whole blocks. `place.input` is in the
/// image's first channel block. `place.weights` are the vector's weights; `channel` is its first output channel.
/// (conv_lanes.cpp)
FunctionBuilder::Values reduce_by_lane(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan,
                                       const ConvLayout& layout, const TileShape& shape, const TilePosition& place,
                                       llvm::Value* channel);

// ---- shared by the reductions

/// A for loop; no loop is emitted if it is known to have at most one iteration.
FunctionBuilder::Values loop(
    FunctionBuilder& f, ValueRange range, int64_t step, FunctionBuilder::Values initial,
    const std::function<FunctionBuilder::Values(llvm::Value*, const FunctionBuilder::Values&)>& body);

llvm::Value* zero_sum(FunctionBuilder& f, const ConvPlan& plan);
/// The same value, hidden from LLVM's optimisations. Otherwise loop strength reduction would compare some sixty
/// addresses, and take four times as long as everything else. LLVM would also merge two loads that are separate to save
/// registers.
llvm::Value* opaque(FunctionBuilder& f, llvm::Value* value, bool in_order = false);
/// A block of zeros.
llvm::Value* zeros(FunctionBuilder& f);
llvm::Value* times(FunctionBuilder& f, llvm::Value* value, int64_t factor);
llvm::Value* multiply_add(FunctionBuilder& f, llvm::Value* a, llvm::Value* b, llvm::Value* sum);
/// A vector of f32.
llvm::Value* load_vector(FunctionBuilder& f, llvm::Value* address, int64_t lanes);
void store_vector(FunctionBuilder& f, llvm::Value* vector, llvm::Value* address);

/// The address that each pixel of a clipped tile reads at tap `kw`: its position in the row at `input`, or the address
/// of zeros if the tap is outside.
FunctionBuilder::Values clipped_places(FunctionBuilder& f, const ConvKernel& conv, const ConvLayout& layout,
                                       const TileShape& shape, const TilePosition& place, llvm::Value* input,
                                       llvm::Value* kw);

/// `base` + `offset` words; may point outside the operand as long as it is not read.
llvm::Value* word_address(FunctionBuilder& f, const ConvLayout& layout, llvm::Value* base, llvm::Value* offset);
/// The same for weights; `word` is a float or a VNNI group.
llvm::Value* weight_address(FunctionBuilder& f, const ConvLayout& layout, llvm::Value* base, llvm::Value* offset);
llvm::Value* load_weights(FunctionBuilder& f, const ConvLayout& layout, llvm::Value* address, int64_t lanes);

}  // namespace gcg::cpu
