// The pause of a thread in a spin loop.
#pragma once

namespace gart {

/// Leaves the core's execution units to the core's other hardware thread.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace gart
