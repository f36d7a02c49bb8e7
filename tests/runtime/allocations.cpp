#include "tests/runtime/allocations.h"

#include <cstddef>

#if GART_COUNTS_ALLOCATIONS
std::atomic<int64_t> allocations{0};

// Every heap allocation, including operator new, calls one of these functions.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void* malloc(size_t size) { return ++allocations, __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return ++allocations, __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return ++allocations, __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) { return ++allocations, __libc_memalign(alignment, size); }
}
#endif
