#include "tests/cuda/runtime/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

extern "C" const char __executable_start, etext;

namespace {

std::atomic<int64_t> count{0};

void* allocate(size_t size, const void* caller) {
  const char* code = static_cast<const char*>(caller);
  if (code >= &__executable_start && code < &etext) ++count;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return allocate(size, __builtin_return_address(0)); }
void* operator new[](size_t size) { return allocate(size, __builtin_return_address(0)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace gart::test {

int64_t allocations() { return count; }

}  // namespace gart::test
