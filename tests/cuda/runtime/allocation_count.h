// Counts what libgart, which is linked into the test, takes from the heap; the simulated driver's own memory does not
// count.
#pragma once

#include <cstdint>

namespace gart::test {

/// Calls of operator new out of the program itself so far.
int64_t allocations();

}  // namespace gart::test
