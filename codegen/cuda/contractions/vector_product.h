// Products of at most 16 lines with a matrix of 16-bit elements whose lines run along the depth, on tensor cores
// straight from memory (device/gart_vectors.cuh).
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

constexpr int64_t kMostVectors = 16;

/// How such a product is shared out.
struct VectorForm {
  int warps = 8;   // of a block; they share the depth
  int unroll = 2;  // pieces of 64 depths that a warp has under way
  int blocks = 2;  // resident on a multiprocessor
  double microseconds = 0;
};
std::string describe(const VectorForm& form);

/// The forms for the product, the one of least expected time first; none where the target, the type or the order of its
/// operands has no such product. `few_rows`: the few lines are rows of the left operand, else columns of the right one.
std::vector<VectorForm> vector_forms(const Kernel& kernel, const Target& target, const Product& product, bool few_rows);

KernelText emit_vectors(const Kernel& kernel, const Target& target, const Product& product, bool few_rows,
                        const VectorForm& form, const std::string& kind);

}  // namespace gcg::cuda
