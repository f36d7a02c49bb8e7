// The values that cost models assume for symbolic extents.
#pragma once

#include "compiler/ir/dim.h"

namespace gcg {

inline constexpr int64_t kTypicalExtent = 64;
/// The height and width of an image.
inline constexpr int64_t kTypicalSide = 224;

/// The extent with every symbol set to `value`, and at least 1; `value` itself if that cannot be evaluated.
double typical(const Dim& extent, int64_t value = kTypicalExtent);

}  // namespace gcg
