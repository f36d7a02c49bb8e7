#include "compiler/kernel/pack_panels.h"

#include <algorithm>

namespace gcg {

void pack_panels(const FloatMatrix& matrix, int64_t columns, float* panels) {
  for (int64_t first = 0; first < matrix.columns; first += columns) {
    const int64_t used = std::min(columns, matrix.columns - first);
    const float* from = matrix.elements + first * matrix.column_stride;
    for (int64_t row = 0; row < matrix.rows; ++row, from += matrix.row_stride, panels += columns) {
      for (int64_t j = 0; j < used; ++j) panels[j] = from[j * matrix.column_stride];
      std::fill(panels + used, panels + columns, 0.0F);
    }
  }
}

}  // namespace gcg
