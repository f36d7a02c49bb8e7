// Code that runs on a stack of its own until it switches back. Each thread of a block that waits has one.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_FIBER_H
#define GART_TESTS_CUDA_SIM_ENGINE_FIBER_H

#include <cstddef>
#include <memory>
#include <vector>
#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace gart_sim {

class Fiber {
 public:
#ifdef __x86_64__
  using Context = void*;  // the stack pointer, where the registers are saved
#else
  using Context = ucontext_t;
#endif

  // `number` staggers the tops of the stacks. If all stacks had equal low address bits, they would compete for few
  // cache sets.
  explicit Fiber(unsigned number);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the next resume() call `entry` on an empty stack, and forgets the previous contents. `entry` may not return.
  void reset(void (*entry)());
  // Called outside any fiber: runs until the fiber suspends.
  void resume();
  // Called inside: returns to the caller of resume().
  void suspend();
  // Called inside: switches to `next`, as if the caller of resume() had resumed it.
  void hand_over(Fiber& next);
  // False if the stack has overflowed.
  [[nodiscard]] bool is_intact() const;

 private:
  static constexpr size_t kStackBytes = 256 * 1024;
  unsigned char* stack_ = nullptr;
  size_t top_ = 0;
  Context inside_{}, outside_{};
};

}  // namespace gart_sim
#endif
