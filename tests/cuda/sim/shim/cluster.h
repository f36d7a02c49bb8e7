// The device headers' cluster functions, as calls of the simulated device.
#ifndef GART_TESTS_CUDA_SIM_SHIM_CLUSTER_H
#define GART_TESTS_CUDA_SIM_SHIM_CLUSTER_H

#include "threads.h"

#if __CUDA_ARCH__ >= 900
static inline int gart_cluster_rank() { return (int)gart_sim::hooks->cluster_rank(); }
static inline void gart_cluster_arrive(GART_SIM_SITE) { gart_sim::hooks->cluster_arrive(false, site); }
static inline void gart_cluster_arrive_relaxed(GART_SIM_SITE) { gart_sim::hooks->cluster_arrive(true, site); }
static inline void gart_cluster_wait(GART_SIM_SITE) { gart_sim::hooks->cluster_wait(site); }

// The block's rank + 1 in the upper 8 bits, then the offset in its dynamic shared memory.
static inline unsigned gart_in_cluster(const void* shared, int rank) {
  const size_t offset = (size_t)((const unsigned char*)shared - gart_sim::state.shared);
  return offset >> 24 ? 0 : (unsigned)(rank + 1) << 24 | (unsigned)offset;
}
static inline float gart_load_in_cluster(unsigned address, GART_SIM_SITE) {
  float v;
  gart_sim::hooks->load_in_cluster(address, &v, sizeof v, site);
  return v;
}
template <class T, int Count>
struct gart_vector;  // The prelude's.
template <int Count = 4>
static inline gart_vector<float, Count> gart_load4_in_cluster(unsigned address, GART_SIM_SITE) {
  gart_vector<float, Count> v;
  gart_sim::hooks->load_in_cluster(address, &v, sizeof v, site);
  return v;
}
static inline void gart_mbarrier_init_fence() { gart_sim::hooks->proxy_fence(); }
static inline void gart_mbarrier_arrive_in_cluster(unsigned long long* barrier, int rank, GART_SIM_SITE) {
  gart_sim::hooks->phase_arrive_in_cluster(barrier, (unsigned)rank, site);
}
#endif
#endif
