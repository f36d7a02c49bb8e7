// Packs float matrices into panels of columns, the order in which kernels stream them (packing.h).
#pragma once

#include <cstdint>

namespace gcg {

/// Smaller matrices are not packed, because they fit into the L1 cache, where strided access is not slower.
inline constexpr int64_t kLeastPackedElements = 4096;

/// A matrix in memory; strides are in elements.
struct FloatMatrix {
  const float* elements = nullptr;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 1;
};

/// Writes all panels of `columns` columns; the last one is padded with zeros.
void pack_panels(const FloatMatrix& matrix, int64_t columns, float* panels);

}  // namespace gcg
