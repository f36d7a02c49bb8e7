// Constants that are masks of positions: a matrix of two numbers, of which one fills a band along the diagonal.
#pragma once

#include <optional>

#include "compiler/ir/tensor.h"

namespace gcg {

/// Element (row, column) is `inside` where column <= row + last and column >= row + first, for the bounds that there
/// are.
struct Band {
  std::optional<int64_t> first, last;
  double inside = 0, outside = 0;

  bool holds(int64_t row, int64_t column) const {
    return (!last || column <= row + *last) && (!first || column >= row + *first);
  }
};

/// nullopt where the constant is nothing such. Its dimensions before the last two have one element.
std::optional<Band> band_of(const Tensor& constant);

}  // namespace gcg
