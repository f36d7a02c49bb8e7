#include "compiler/kernel/pack_panels.h"

#include <algorithm>

namespace gcg {

template <class Element>
void pack_panels(const StridedMatrix<Element>& matrix, int64_t columns, Element* panels) {
  for (int64_t first = 0; first < matrix.columns; first += columns) {
    const int64_t used = std::min(columns, matrix.columns - first);
    const Element* from = matrix.elements + first * matrix.column_stride;
    for (int64_t row = 0; row < matrix.rows; ++row, from += matrix.row_stride, panels += columns) {
      for (int64_t j = 0; j < used; ++j) panels[j] = from[j * matrix.column_stride];
      std::fill(panels + used, panels + columns, Element{});
    }
  }
}

template void pack_panels(const StridedMatrix<float>&, int64_t, float*);
template void pack_panels(const StridedMatrix<double>&, int64_t, double*);
template void pack_panels(const StridedMatrix<uint16_t>&, int64_t, uint16_t*);

}  // namespace gcg
