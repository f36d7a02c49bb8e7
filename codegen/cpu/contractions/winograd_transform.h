// Applies the small matrices of Winograd's algorithm to tiles of vectors, in floats. Kernels share these functions.
#pragma once

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/winograd.h"

namespace gcg::cpu {

/// void transform(const float* image, float* to, int64_t row, int64_t column, int64_t height, int64_t width,
///                int64_t units, int64_t image_block, int64_t to_block, int64_t product)
/// Transforms the tile of inputs that begins at (row, column), all units of 16 channels. Parts of the tile may be
/// outside the image. Element (i, j) of the transformed tile goes to to[unit * to_block + (i * side + j) * product].
llvm::Function* input_transform(FunctionBuilder& f, const WinogradVariant& variant, int64_t lanes);

/// void transform(const float* sums, int64_t product, float* to): one vector of channels of a tile's outputs, from
/// sums[(i * side + j) * product] to to[(row * tile + column) * lanes].
llvm::Function* output_transform(FunctionBuilder& f, const WinogradVariant& variant, int64_t lanes);

}  // namespace gcg::cpu
