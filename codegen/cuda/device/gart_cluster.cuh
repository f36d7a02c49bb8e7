// Clusters (sm_90): neighbouring blocks (`__cluster_dims__`) that run at the same time and can access one another's
// shared memory. Each function is one PTX instruction.
//
// Order: the writes of a block to its shared memory are visible to the cluster after the writers call
// gart_cluster_arrive and the readers call gart_cluster_wait. Every thread of every block must call both. A block may
// not exit while other blocks still access its shared memory or arrive at its barriers. Therefore a kernel ends with a
// relaxed arrive and a wait.
#pragma once

#include "gart_memory.cuh"

#if __CUDA_ARCH__ >= 900 && !defined(GART_SHIM)
/// This block's number in its cluster.
inline int gart_cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
inline void gart_cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
/// Does not order memory: after the wait, a thread only knows that the others have arrived.
inline void gart_cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
inline void gart_cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// The address of the same place in the shared memory of block `rank` of the cluster.
inline unsigned int gart_in_cluster(const void* shared, int rank) {
  unsigned int there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"((unsigned int)__cvta_generic_to_shared(shared)), "r"(rank));
  return there;
}
inline float gart_load_in_cluster(unsigned int address) {
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(address) : "memory");
  return v;
}
/// Loads four neighbouring floats, aligned to 16 bytes.
inline gart_vector<float, 4> gart_load4_in_cluster(unsigned int address) {
  gart_vector<float, 4> v;
  asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
               : "r"(address)
               : "memory");
  return v;
}

/// Makes barriers that this thread initialised visible to copies and to the cluster. A barrier of the block or cluster
/// must follow.
inline void gart_mbarrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
/// Arrives at the barrier at the same address in block `rank` of the cluster.
inline void gart_mbarrier_arrive_in_cluster(unsigned long long* barrier, int rank) {
  asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(
                   (unsigned int)__cvta_generic_to_shared(barrier)),
               "r"(rank)
               : "memory");
}
#endif
