// Packs matrices into panels of columns, the order in which kernels stream them (packing.h).
#pragma once

#include <cstdint>

namespace gcg {

/// Smaller matrices are not packed, because they fit into the L1 cache, where strided access is not slower.
inline constexpr int64_t kLeastPackedElements = 4096;
/// A table with fewer rows is stored apart, row by row, even if it is also the factor of a product. Reading a row from
/// panels takes a cache line per element. This must stay a small part of the time of a product by all rows.
inline constexpr int64_t kLeastPackedRows = 4096;

/// A matrix in memory; strides are in elements.
template <class Element>
struct StridedMatrix {
  const Element* elements = nullptr;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 1;
};

/// Writes all panels of `columns` columns; the last one is padded with zeros.
/// Element: float, uint16_t (f16 or bf16) or double.
template <class Element>
void pack_panels(const StridedMatrix<Element>& matrix, int64_t columns, Element* panels);

}  // namespace gcg
