// The largest finite numbers of the float types.
#pragma once

#include <limits>

#include "compiler/ir/dtype.h"

namespace gcg {

/// The largest finite number. Requires: is_float(type).
inline double largest_float(DType type) {
  switch (type) {
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.FEp127;
    case DType::f32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace gcg
