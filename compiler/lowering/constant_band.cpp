#include "compiler/lowering/constant_band.h"

#include <algorithm>

namespace gcg {
namespace {

/// Proposes a band for a matrix whose larger number is `inside`. It looks at the rows in which the band begins or ends.
Band proposal(const Tensor& t, int64_t rows, int64_t columns, double inside, double outside) {
  Band band{{}, {}, inside, outside};
  for (int64_t i = 0; i < rows; ++i) {
    int64_t begin = columns, end = 0;
    for (int64_t j = 0; j < columns; ++j)
      if (t.at_double(i * columns + j) == inside) begin = std::min(begin, j), end = j + 1;
    if (begin >= end) continue;
    if (!band.first && begin > 0) band.first = begin - i;
    if (!band.last && end < columns) band.last = end - 1 - i;
  }
  return band;
}

}  // namespace

std::optional<Band> band_of(const Tensor& t) {
  const std::vector<int64_t>& shape = t.shape();
  if (shape.size() < 2 || t.elements() < 4) return std::nullopt;
  const int64_t columns = shape.back(), rows = shape[shape.size() - 2];
  if (rows < 2 || columns < 2 || t.elements() != rows * columns) return std::nullopt;
  double high = t.at_double(0), low = high;
  for (int64_t i = 0; i < t.elements(); ++i) {
    const double v = t.at_double(i);
    if (high == low)
      high = std::max(high, v), low = std::min(low, v);
    else if (v != high && v != low)
      return std::nullopt;
  }
  const Band band = proposal(t, rows, columns, high, low);
  if (!band.first && !band.last) return std::nullopt;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (t.at_double(i * columns + j) != (band.holds(i, j) ? high : low)) return std::nullopt;
  return band;
}

}  // namespace gcg
