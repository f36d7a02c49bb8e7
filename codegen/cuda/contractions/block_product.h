// Products of few rows with packed low-bit weights, which have a scale and perhaps an offset per block of a column. The
// weights stay packed in memory (device/gart_block_weights.cuh).
#pragma once

#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

/// Emits a MatMulKernel with `blocks`. compiler/kernel/block_products.h says which of them the target multiplies.
KernelText emit_block_product(const Kernel& kernel, const Target& target);

}  // namespace gcg::cuda
