// Recognises constants that are position masks: matrices of two numbers, one of which fills a band along the diagonal.
#pragma once

#include <optional>

#include "compiler/ir/tensor.h"

namespace gcg {

/// Element (row, column) is `inside` if row + first <= column <= row + last; a missing bound does not limit. All other
/// elements are `outside`.
struct Band {
  std::optional<int64_t> first, last;
  double inside = 0, outside = 0;

  bool holds(int64_t row, int64_t column) const {
    return (!last || column <= row + *last) && (!first || column >= row + *first);
  }
};

/// nullopt if the constant is not a band. Its dimensions before the last two must have extent 1.
std::optional<Band> band_of(const Tensor& constant);

}  // namespace gcg
