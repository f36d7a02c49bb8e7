// Matrices of floats in panels of columns, as kernels stream them (packing.h).
#pragma once

#include <cstdint>

namespace gcg {

/// Matrices with fewer elements stay in the L1 cache whole: strides cost nothing, and they are not packed.
inline constexpr int64_t kLeastPackedElements = 4096;

/// In memory; strides in elements.
struct FloatMatrix {
  const float* elements = nullptr;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 1;
};

/// Writes all of its panels of `columns`, the last one padded with zeros.
void pack_panels(const FloatMatrix& matrix, int64_t columns, float* panels);

}  // namespace gcg
