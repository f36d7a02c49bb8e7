// Counts the heap allocations of libgart, which is linked into the test. The simulated driver's own memory does not
// count.
#pragma once

#include <cstdint>

namespace gart::test {

/// Number of calls of operator new from the program itself so far.
int64_t allocations();

}  // namespace gart::test
