// A stack of its own that runs until it switches back: one per thread of a block that waits somewhere.
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
  using Context = void*;  // The stack's pointer, with the registers at it.
#else
  using Context = ucontext_t;
#endif

  // `number` staggers the stacks' tops: equal low bits of all stacks would make them share few cache sets.
  explicit Fiber(unsigned number);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the next resume() call `entry`, on an empty stack; what ran there is forgotten. `entry` may not return.
  void reset(void (*entry)());
  // From outside any fiber: runs until the fiber suspends.
  void resume();
  // From inside: goes back to where resume() was called.
  void suspend();
  // From inside: as if resume()'s caller had resumed `next` at once.
  void hand_over(Fiber& next);
  // False: the stack has overflowed.
  [[nodiscard]] bool is_intact() const;

 private:
  static constexpr size_t kStackBytes = 256 * 1024;
  unsigned char* stack_ = nullptr;
  size_t top_ = 0;
  Context inside_{}, outside_{};
};

}  // namespace gart_sim
#endif
