// Counts allocations, for tests that require none.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GART_COUNTS_ALLOCATIONS 0
#else
#define GART_COUNTS_ALLOCATIONS 1
extern std::atomic<int64_t> allocations;  // number of allocations so far in this process
#endif
