// Numbers from a seed that have the same bits on every machine: only integer arithmetic makes them.
#pragma once

#include "tools/gcc-graph/io/host_tensor.h"

namespace gcg::tools {

/// Floats are about standard normal (sums of 12 uniform numbers); floats of 16 bits are 1 or -1. Integers are 0 or 1,
/// which are valid ids, masks and booleans. The same seed and name give the same elements. Throws Error for strings.
HostTensor exact_numbers(const std::string& name, gart::DType dtype, const std::vector<int64_t>& shape, uint64_t seed);

}  // namespace gcg::tools
