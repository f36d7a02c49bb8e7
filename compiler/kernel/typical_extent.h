// What an open extent counts as where a plan for any extent has to be good at something.
#pragma once

#include "compiler/ir/dim.h"

namespace gcg {

inline constexpr int64_t kTypicalExtent = 64;
/// The side of an image.
inline constexpr int64_t kTypicalSide = 224;

/// At least 1, with every symbol at `value`; `value` where that gives no number.
double typical(const Dim& extent, int64_t value = kTypicalExtent);

}  // namespace gcg
