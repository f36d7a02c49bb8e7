// The pause of a thread in a spin loop.
#pragma once

namespace gart {

/// Leaves a core's execution units to the other hardware thread.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace gart
