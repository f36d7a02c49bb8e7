#include "tests/cuda/sim/engine/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define GART_SIM_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(GART_SIM_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
// AddressSanitizer must learn about switches, and about functions that are abandoned without a return.
#define GART_SIM_TELL(what) what
#else
#define GART_SIM_TELL(what)
#endif

namespace gart_sim {
namespace {

constexpr uint64_t kCanary = 0x5a17c0de5a17c0deULL;

// The place where resume() was called, and the entry of a fiber that has not run yet. One fiber runs at a time in the
// process.
struct Outside {
  const void* stack = nullptr;
  size_t bytes = 0;
  bool is_left = false;  // set by the current switch
} outside;
void (*first_entry)();

// Runs first after a switch. `own`: the value that AddressSanitizer stored here when this stack was left.
void arrive([[maybe_unused]] void* own) {
  const void* stack = nullptr;
  size_t bytes = 0;
  GART_SIM_TELL(__sanitizer_finish_switch_fiber(own, &stack, &bytes));
  if (outside.is_left) outside = {stack, bytes, false};
}

void begin() {
  arrive(nullptr);
  first_entry();
}

}  // namespace

#ifdef __x86_64__

// Saves the callee-saved registers on this stack and its pointer in *from, and continues where `to` was saved.
extern "C" void gart_sim_switch(void** from, void* to);
asm(R"(
.text
.type gart_sim_switch, @function
.hidden gart_sim_switch
.globl gart_sim_switch
gart_sim_switch:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gart_sim_switch, .-gart_sim_switch
)");

static void jump(Fiber::Context& from, Fiber::Context& to) { gart_sim_switch(&from, to); }

// Gives the stack the form that gart_sim_switch leaves: six registers below the return address. A call would have put
// the return address at 8 below a multiple of 16.
static void start(Fiber::Context& place, unsigned char* stack, size_t bytes) {
  void** top = reinterpret_cast<void**>(stack + bytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&begin);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  place = top;
}

#else

static void jump(Fiber::Context& from, Fiber::Context& to) { swapcontext(&from, &to); }

static void start(Fiber::Context& place, unsigned char* stack, size_t bytes) {
  getcontext(&place);
  place.uc_stack.ss_sp = stack;
  place.uc_stack.ss_size = bytes;
  place.uc_link = nullptr;
  makecontext(&place, &begin, 0);
}

#endif

// Switches from this stack to the one of `bytes` at `stack`. Returns when `from` continues.
static void go(Fiber::Context& from, Fiber::Context& to, [[maybe_unused]] const void* stack,
               [[maybe_unused]] size_t bytes) {
  void* own = nullptr;
  GART_SIM_TELL(__sanitizer_start_switch_fiber(&own, stack, bytes));
  jump(from, to);
  arrive(own);
}

Fiber::Fiber(unsigned number) {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) abort();
  stack_ = static_cast<unsigned char*>(memory);
  memcpy(stack_, &kCanary, sizeof kCanary);
  top_ = kStackBytes - 320 * static_cast<size_t>(number % 128 + 1);
}

Fiber::~Fiber() {
  GART_SIM_TELL(__asan_unpoison_memory_region(stack_, kStackBytes));
  munmap(stack_, kStackBytes);
}

bool Fiber::is_intact() const {
  uint64_t canary;
  memcpy(&canary, stack_, sizeof canary);
  return canary == kCanary;
}

void Fiber::reset(void (*entry)()) {
  GART_SIM_TELL(__asan_unpoison_memory_region(stack_, kStackBytes));
  first_entry = entry;
  start(inside_, stack_, top_ & ~size_t{63});
}

void Fiber::resume() {
  outside.is_left = true;
  go(outside_, inside_, stack_, kStackBytes);
}
void Fiber::suspend() { go(inside_, outside_, outside.stack, outside.bytes); }
void Fiber::hand_over(Fiber& next) {
  next.outside_ = outside_;
  go(inside_, next.inside_, next.stack_, kStackBytes);
}

}  // namespace gart_sim
