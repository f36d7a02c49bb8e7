#include "tests/cuda/sim/engine/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace gart_sim {
namespace {
constexpr uint64_t kCanary = 0x5a17c0de5a17c0deULL;
}

#ifdef __x86_64__
// Saves the callee's registers on this stack, its pointer in *from, and goes on where `to` was saved.
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
#endif

Fiber::Fiber(unsigned number) {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) abort();
  stack_ = static_cast<unsigned char*>(memory);
  memcpy(stack_, &kCanary, sizeof kCanary);
  top_ = kStackBytes - 320 * static_cast<size_t>(number % 128 + 1);
}

Fiber::~Fiber() { munmap(stack_, kStackBytes); }

bool Fiber::is_intact() const {
  uint64_t canary;
  memcpy(&canary, stack_, sizeof canary);
  return canary == kCanary;
}

#ifdef __x86_64__

void Fiber::reset(void (*entry)()) {
  // The stack as gart_sim_switch leaves it: six registers below the return address, which a call would have put at
  // 8 below a multiple of 16.
  void** top = reinterpret_cast<void**>(stack_ + (top_ & ~size_t{63}));
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  inside_ = top;
}

void Fiber::resume() { gart_sim_switch(&outside_, inside_); }
void Fiber::suspend() { gart_sim_switch(&inside_, outside_); }
void Fiber::hand_over(Fiber& next) {
  next.outside_ = outside_;
  gart_sim_switch(&inside_, next.inside_);
}

#else

void Fiber::reset(void (*entry)()) {
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_;
  inside_.uc_stack.ss_size = top_ & ~size_t{63};
  inside_.uc_link = nullptr;
  makecontext(&inside_, entry, 0);
}

void Fiber::resume() { swapcontext(&outside_, &inside_); }
void Fiber::suspend() { swapcontext(&inside_, &outside_); }
void Fiber::hand_over(Fiber& next) {
  next.outside_ = outside_;
  swapcontext(&inside_, &next.inside_);
}

#endif

}  // namespace gart_sim
