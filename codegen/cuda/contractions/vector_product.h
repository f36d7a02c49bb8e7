// Products of at most 16 lines with a matrix of 16-bit elements whose lines run along the depth. Operands go from
// memory straight to tensor cores (device/gart_vectors.cuh).
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

constexpr int64_t kMostVectors = 16;

/// How the product is divided among blocks and warps.
struct VectorTiling {
  int warps = 8;   // warps of a block; they share the depth
  int unroll = 2;  // pieces of 64 depths that a warp has in flight
  int blocks = 2;  // resident on a multiprocessor
  double microseconds = 0;
};
std::string describe(const VectorTiling& tiling);

/// The tilings for the product; the least expected time comes first. Empty if the target, the element type or the
/// layout of operands does not support them. `few_rows`: True if the few lines are rows of the left operand, false if
/// they are columns of the right one.
std::vector<VectorTiling> vector_tilings(const Kernel& kernel, const Target& target, const Product& product,
                                         bool few_rows);

KernelText emit_vectors(const Kernel& kernel, const Target& target, const Product& product, bool few_rows,
                        const VectorTiling& tiling, const std::string& kind);

}  // namespace gcg::cuda
