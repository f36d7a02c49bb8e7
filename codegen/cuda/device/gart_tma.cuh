// sm_90a: boxes of tensors, copied to shared memory by the GPU's own unit for that (TMA) after one thread has asked, and the
// barriers in shared memory that tell when they are there. One PTX instruction each.
//
// A barrier goes through phases: one ends when all its arrivals and all bytes that were announced have come. Who waits names
// the phase by its parity: 0 for the first, then 1, 0, 1...; the phase before the first counts as over.
//
// Order: a barrier exists for copies after gart_fence_proxy_async() by the thread that made it and a barrier of the block. What
// a box copy wrote is seen by who has waited for its phase. It may overwrite what others are known to have read: by a phase, too.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// As the driver encodes it for the launch: where a tensor lies, its extents and strides, the box that is copied at once, and how
/// the box lies in shared memory. A parameter `const __grid_constant__`.
struct alignas(128) GartTensorMap {
  unsigned long long words[16];
};

#ifndef GART_SHIM
inline unsigned int gart_shared_address(const void* at) { return (unsigned int)__cvta_generic_to_shared(at); }

inline void gart_mbarrier_init(unsigned long long* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gart_shared_address(barrier)), "r"(arrivals) : "memory");
}
inline void gart_mbarrier_arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(gart_shared_address(barrier)) : "memory");
}
/// Arrives and announces bytes of box copies; those must be asked for after this.
inline void gart_mbarrier_expect(unsigned long long* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(gart_shared_address(barrier)), "r"(bytes)
               : "memory");
}
/// Waits a while for the end of the phase of this parity; true if it is over.
inline bool gart_mbarrier_try_wait(unsigned long long* barrier, int parity) {
  unsigned int is_over;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}\n"
      : "=r"(is_over)
      : "r"(gart_shared_address(barrier)), "r"(parity)
      : "memory");
  return is_over != 0;
}

// Starts copying the box whose first element has these coordinates, the contiguous one first; what lies outside of the tensor
// becomes zero. `shared`: 128-aligned, 1024-aligned where the map swizzles by 128 bytes.
#define GART_COPY_BOX(rank, coordinates, ...)                                                                              \
  inline void gart_copy_box(void* shared, const GartTensorMap& map, const int(&at)[rank], unsigned long long* barrier) {   \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {"        \
                 coordinates "}], [%2];" ::"r"(gart_shared_address(shared)),                                               \
                 "l"(&map), "r"(gart_shared_address(barrier)), __VA_ARGS__                                                 \
                 : "memory");                                                                                              \
  }
GART_COPY_BOX(2, "%3,%4", "r"(at[0]), "r"(at[1]))
GART_COPY_BOX(3, "%3,%4,%5", "r"(at[0]), "r"(at[1]), "r"(at[2]))
GART_COPY_BOX(4, "%3,%4,%5,%6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]))
GART_COPY_BOX(5, "%3,%4,%5,%6,%7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]))
#undef GART_COPY_BOX

/// All threads of a warpgroup: from here on each has `Count` registers at most, a multiple of 8; others may take the rest.
template <int Count>
void gart_give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
/// From here on each may have `Count`, once others have given them.
template <int Count>
void gart_take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}
#endif

inline void gart_mbarrier_wait(unsigned long long* barrier, int parity) {
  while (!gart_mbarrier_try_wait(barrier, parity)) {
  }
}

#endif
