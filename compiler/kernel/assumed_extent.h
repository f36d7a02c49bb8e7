// What cost models take open extents as.
#pragma once

#include "compiler/ir/dim.h"

namespace gcg {

constexpr int64_t kAssumedExtent = 64;
/// With every symbol at kAssumedExtent; not below 0.
double assumed_value(const Dim& extent);

}  // namespace gcg
