// Operations that the threads of a warp, or some warps of a block, execute together. Each is one PTX instruction.
#pragma once

#ifndef GART_SHIM
/// Waits until `threads` threads, a multiple of 32, have come to barrier `id` (1 to 15; __syncthreads uses 0). Orders
/// their accesses to memory.
inline void gart_named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Arrives at the barrier as one of its `threads` threads, and does not wait.
inline void gart_named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#if __CUDA_ARCH__ >= 900
/// True for one lane of the warp, always the same one. All lanes must call it. Tells ptxas that only one lane
/// continues.
inline bool gart_elect_one() {
  unsigned int is_elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}" : "=r"(is_elected));
  return is_elected != 0;
}

// Stores four matrices of 8 x 8 elements of 16 bits; the reverse of gart_ldmatrix_x4. In r0 to r3, a lane holds two
// neighbouring elements of row l / 4 of each matrix, from column 2 * (l % 4) on. Transposed: of column l / 4, from row
// 2 * (l % 4) on. Lane l's `row`, aligned to 16 bytes, is the destination of row l % 8 of matrix l / 8.
#define GART_STORE_MATRICES(name, kind)                                                                            \
  inline void name(void* row, unsigned int r0, unsigned int r1, unsigned int r2, unsigned int r3) {                \
    asm volatile("stmatrix.sync.aligned.m8n8.x4" kind ".shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(                    \
                     (unsigned int)__cvta_generic_to_shared(row)),                                                 \
                 "r"(r0), "r"(r1), "r"(r2), "r"(r3)                                                                \
                 : "memory");                                                                                      \
  }
GART_STORE_MATRICES(gart_store_matrices, "")
GART_STORE_MATRICES(gart_store_matrices_transposed, ".trans")
#undef GART_STORE_MATRICES
#endif
#endif
