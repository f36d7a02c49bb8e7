// What a thread does between looks at what it waits for.
#pragma once

namespace gart {

/// Leaves a core's execution units to the thread that it shares them with.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace gart
