// The launches before and after this one (programmatic dependent launch, from sm_90 on). A launch may be started while the one
// before it runs. Until it has waited for that one it may read what no launch writes, and write nothing.
#pragma once

#if !defined(GART_SHIM) && __CUDA_ARCH__ >= 900
inline void gart_griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
inline void gart_griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
#endif

/// Lets the launch after this one start as soon as all blocks of this one run.
inline void gart_start_next_launch() {
#if __CUDA_ARCH__ >= 900
  gart_griddepcontrol_launch_dependents();
#endif
}

/// Waits until the launch before this one has ended, and sees what it wrote. Every thread must call it: whoever comes later
/// relies on this launch for that, too.
inline void gart_await_last_launch() {
#if __CUDA_ARCH__ >= 900
  gart_griddepcontrol_wait();
#endif
}
