#include "tests/cuda/runtime/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

extern "C" const char __executable_start, etext;

namespace {

std::atomic<int64_t> count{0};

void* try_allocate(size_t size, const void* caller) noexcept {
  const char* code = static_cast<const char*>(caller);
  if (code >= &__executable_start && code < &etext) ++count;
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate(size_t size, const void* caller) {
  void* memory = try_allocate(size, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return allocate(size, __builtin_return_address(0)); }
void* operator new[](size_t size) { return allocate(size, __builtin_return_address(0)); }
// Sanitizers define their own nothrow operator, which std::stable_sort would call. The operators delete below cannot
// free memory of the sanitizers.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return try_allocate(size, __builtin_return_address(0));
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return try_allocate(size, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace gart::test {

int64_t allocations() { return count; }

}  // namespace gart::test
