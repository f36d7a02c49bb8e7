// Programmatic dependent launch (from sm_90 on): a launch may start while the previous one runs. Until it has waited
// for the previous launch, it may not write, and may read only memory that no launch writes.
#pragma once

#if !defined(GART_SHIM) && __CUDA_ARCH__ >= 900
inline void gart_griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
inline void gart_griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
#endif

/// Lets the next launch start as soon as all blocks of this one run.
inline void gart_start_next_launch() {
#if __CUDA_ARCH__ >= 900
  gart_griddepcontrol_launch_dependents();
#endif
}

/// Waits until the previous launch has ended, and makes its writes visible. Every thread must call it: later launches
/// also rely on this wait.
inline void gart_await_last_launch() {
#if __CUDA_ARCH__ >= 900
  gart_griddepcontrol_wait();
#endif
}
