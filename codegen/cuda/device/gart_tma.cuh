// sm_90a: the tensor memory accelerator (TMA) copies boxes of tensors to shared memory when one thread requests it.
// Barriers in shared memory signal that copies are complete. Each function is one PTX instruction.
//
// A barrier goes through phases. A phase ends when all its arrivals and all announced bytes have come. A waiting thread
// names the phase by its parity: 0 for the first, then 1, 0, 1... The phase before the first one counts as over.
//
// Order:
//
// * A copy may use a barrier after the thread that initialised it calls gart_fence_proxy_async(), and a barrier of the
//   block follows.
// * A thread sees the bytes of a copy after it has waited for the phase of the copy.
// * A copy may overwrite memory that other threads have finished reading. They report it by the phase of another
//   barrier.
// * A store of a box sees the writes of threads after each writer calls gart_fence_proxy_async() and a barrier follows.
//   The same holds before a copy may overwrite these writes.
// * The thread that stores a box also commits and waits. Until it has waited, no thread may change the box, and the
//   block may not end.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// A tensor map, as the driver encodes it for the launch: address, extents and strides of the tensor, the box that one
/// copy moves, and the layout of the box in shared memory. It is passed as a parameter `const __grid_constant__`.
struct alignas(128) GartTensorMap {
  unsigned long long words[16];
};

/// Hints of copies: how long the L2 cache keeps the data.
constexpr unsigned long long kGartEvictFirst = 0x12F0000000000000ull, kGartEvictNormal = 0x1000000000000000ull,
                             kGartEvictLast = 0x14F0000000000000ull;

#ifndef GART_SHIM
inline unsigned int gart_shared_address(const void* at) { return (unsigned int)__cvta_generic_to_shared(at); }

inline void gart_mbarrier_init(unsigned long long* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gart_shared_address(barrier)), "r"(arrivals) : "memory");
}
inline void gart_mbarrier_arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(gart_shared_address(barrier)) : "memory");
}
/// Arrives, and announces the bytes of box copies, which must be requested after the call.
inline void gart_mbarrier_expect(unsigned long long* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(gart_shared_address(barrier)), "r"(bytes)
               : "memory");
}
/// Waits for a limited time until the phase with this parity ends. Returns true if it has ended.
inline bool gart_mbarrier_try_wait(unsigned long long* barrier, int parity) {
  unsigned int is_over;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}\n"
      : "=r"(is_over)
      : "r"(gart_shared_address(barrier)), "r"(parity)
      : "memory");
  return is_over != 0;
}

/// Prefetches the map, so that the first copy does not wait for it.
inline void gart_prefetch_map(const GartTensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

#define GART_NAMES_OF_2 "{%5,%6}"
#define GART_NAMES_OF_3 "{%5,%6,%7}"
#define GART_NAMES_OF_4 "{%5,%6,%7,%8}"
#define GART_NAMES_OF_5 "{%5,%6,%7,%8,%9}"
#define GART_PLACE_OF_2 "r"(at[0]), "r"(at[1])
#define GART_PLACE_OF_3 GART_PLACE_OF_2, "r"(at[2])
#define GART_PLACE_OF_4 GART_PLACE_OF_3, "r"(at[3])
#define GART_PLACE_OF_5 GART_PLACE_OF_4, "r"(at[4])

// Starts copying the box whose first element is at the coordinates `at`, the contiguous dimension first. Elements
// outside the tensor become zero. `shared` is aligned to 128 bytes, or to 1024 if the map swizzles by 128 bytes.
// `hint`: a kGartEvict constant. gart_copy_box_multicast copies to this address in each block of the cluster whose bit
// is set in `blocks`. In each of them, the bytes count for the barrier at the same address.
#define GART_COPY(name, rank, kind, tail, blocks, hint, ...)                                                                \
  inline void name(void* shared, const GartTensorMap& map, const int(&at)[rank], unsigned long long* barrier __VA_ARGS__) { \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes" kind                 \
                 " [%0], [%1, " GART_NAMES_OF_##rank "], [%2]" tail ";" ::"r"(gart_shared_address(shared)),                 \
                 "l"(&map), "r"(gart_shared_address(barrier)), "h"(blocks), "l"(hint), GART_PLACE_OF_##rank                 \
                 : "memory");                                                                                               \
  }
/// Starts storing a box from shared memory, where it has the layout of a copy. Elements outside the tensor are dropped.
#define GART_BOXES(rank)                                                                                                   \
  GART_COPY(gart_copy_box, rank, "", "", (unsigned short)0, 0ull, )                                                        \
  GART_COPY(gart_copy_box, rank, ".L2::cache_hint", ", %4", (unsigned short)0, hint, , unsigned long long hint)            \
  GART_COPY(gart_copy_box_multicast, rank, ".multicast::cluster", ", %3", blocks, 0ull, , unsigned short blocks)           \
  GART_COPY(gart_copy_box_multicast, rank, ".multicast::cluster.L2::cache_hint", ", %3, %4", blocks, hint, ,               \
            unsigned short blocks, unsigned long long hint)                                                                \
  inline void gart_store_box(const GartTensorMap& map, const void* shared, const int(&at)[rank]) {                         \
    asm volatile("cp.async.bulk.tensor." #rank "d.global.shared::cta.bulk_group [%1, " GART_NAMES_OF_##rank                \
                 "], [%0];" ::"r"(gart_shared_address(shared)),                                                            \
                 "l"(&map), "r"(0), "r"(0), "r"(0), GART_PLACE_OF_##rank                                                   \
                 : "memory");                                                                                              \
  }
GART_BOXES(2)
GART_BOXES(3)
GART_BOXES(4)
GART_BOXES(5)
#undef GART_BOXES
#undef GART_COPY

/// Copies as many pixels as a box has, one line each, from a map of images (channels, columns, rows, images). `at` is
/// the first pixel. Pixels come in the order in which a convolution's window visits them within the map's corners. The
/// offsets move each of them, and are not negative.
#define GART_COPY_IM2COL(kind, tail, hint, ...)                                                                            \
  inline void gart_copy_im2col(void* shared, const GartTensorMap& map, const int(&at)[4], int column_offset,               \
                               int row_offset, unsigned long long* barrier __VA_ARGS__) {                                  \
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes" kind                 \
                 " [%0], [%1, " GART_NAMES_OF_4 "], [%2], {%3, %9}" tail ";" ::"r"(gart_shared_address(shared)),           \
                 "l"(&map), "r"(gart_shared_address(barrier)), "h"((unsigned short)column_offset), "l"(hint),              \
                 GART_PLACE_OF_4, "h"((unsigned short)row_offset)                                                          \
                 : "memory");                                                                                              \
  }
GART_COPY_IM2COL("", "", 0ull, )
GART_COPY_IM2COL(".L2::cache_hint", ", %4", hint, , unsigned long long hint)
#undef GART_COPY_IM2COL

// Commit: makes a group of this thread's stores since the last commit. Wait: until at most `Left` groups have not yet
// read shared memory.
inline void gart_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int Left>
void gart_store_wait() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Left) : "memory");
}

/// All threads of a warpgroup must call it. From here on, each thread has at most `Count` registers, a multiple of 8.
/// Other warpgroups may take the freed registers.
template <int Count>
void gart_give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
/// From here on, each thread may have `Count` registers. Waits until other warpgroups have freed enough.
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
