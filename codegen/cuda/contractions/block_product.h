// Products of few rows with weights of few bits, a scale and perhaps an offset for each block of a column, that stay
// packed (device/gart_block_weights.cuh).
#pragma once

#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

/// Of a MatMulKernel with `blocks`, which compiler/kernel/block_products.h says the target multiplies.
KernelText emit_block_product(const Kernel& kernel, const Target& target);

}  // namespace gcg::cuda
