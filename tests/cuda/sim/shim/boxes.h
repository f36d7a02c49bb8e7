// Calls of the simulated device for the prelude's wrappers: sm_90's box copies (TMA), the barriers that they signal,
// and setmaxnreg. Names and signatures are the prelude's.
#ifndef GART_TESTS_CUDA_SIM_SHIM_BOXES_H
#define GART_TESTS_CUDA_SIM_SHIM_BOXES_H

#include "threads.h"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
static inline void gart_mbarrier_init(unsigned long long* barrier, int arrivals, GART_SIM_SITE) {
  gart_sim::hooks->phase_init(barrier, (unsigned)arrivals, site);
}
static inline void gart_mbarrier_arrive(unsigned long long* barrier, GART_SIM_SITE) {
  gart_sim::hooks->phase_arrive(barrier, 0, site);
}
static inline void gart_mbarrier_expect(unsigned long long* barrier, int bytes, GART_SIM_SITE) {
  gart_sim::hooks->phase_arrive(barrier, (unsigned)bytes, site);
}
// Returns only when the phase is over, so no caller needs to try again.
static inline bool gart_mbarrier_try_wait(unsigned long long* barrier, int parity, GART_SIM_SITE) {
  gart_sim::hooks->phase_wait(barrier, (unsigned)parity, site);
  return true;
}
template <class Map, int Rank>
static inline void gart_copy_box(void* shared, const Map& map, const int (&at)[Rank], unsigned long long* barrier,
                                 GART_SIM_SITE) {
  static_assert(sizeof(Map) == 128 && alignof(Map) >= 64, "a tensor map");
  gart_sim::hooks->copy_box({shared, &map, at, Rank, barrier, 0, nullptr}, site);
}
template <class Map, int Rank>
static inline void gart_copy_box(void* shared, const Map& map, const int (&at)[Rank], unsigned long long* barrier,
                                 unsigned long long, GART_SIM_SITE) {
  gart_copy_box(shared, map, at, barrier, site);
}
template <class Map, int Rank>
static inline void gart_copy_box_multicast(void* shared, const Map& map, const int (&at)[Rank],
                                           unsigned long long* barrier, unsigned short blocks, GART_SIM_SITE) {
  static_assert(sizeof(Map) == 128 && alignof(Map) >= 64, "a tensor map");
  gart_sim::hooks->copy_box({shared, &map, at, Rank, barrier, blocks, nullptr}, site);
}
template <class Map, int Rank>
static inline void gart_copy_box_multicast(void* shared, const Map& map, const int (&at)[Rank],
                                           unsigned long long* barrier, unsigned short blocks, unsigned long long,
                                           GART_SIM_SITE) {
  gart_copy_box_multicast(shared, map, at, barrier, blocks, site);
}
template <class Map>
static inline void gart_copy_im2col(void* shared, const Map& map, const int (&at)[4], int column_offset, int row_offset,
                                    unsigned long long* barrier, GART_SIM_SITE) {
  static_assert(sizeof(Map) == 128 && alignof(Map) >= 64, "a tensor map");
  const int offsets[2] = {column_offset, row_offset};
  gart_sim::hooks->copy_box({shared, &map, at, 4, barrier, 0, offsets}, site);
}
template <class Map>
static inline void gart_copy_im2col(void* shared, const Map& map, const int (&at)[4], int column_offset, int row_offset,
                                    unsigned long long* barrier, unsigned long long, GART_SIM_SITE) {
  gart_copy_im2col(shared, map, at, column_offset, row_offset, barrier, site);
}
template <class Map, int Rank>
static inline void gart_store_box(const Map& map, const void* shared, const int (&at)[Rank], GART_SIM_SITE) {
  static_assert(sizeof(Map) == 128 && alignof(Map) >= 64, "a tensor map");
  gart_sim::hooks->store_box({const_cast<void*>(shared), &map, at, Rank, nullptr, 0, nullptr}, site);
}
static inline void gart_store_commit() { gart_sim::hooks->store_commit(); }
template <int groups_left>
static inline void gart_store_wait() {
  gart_sim::hooks->store_wait(groups_left);
}
template <class Map>
static inline void gart_prefetch_map(const Map&) {}
template <int count>
static inline void gart_give_registers(GART_SIM_SITE) {
  gart_sim::hooks->set_registers(count, false, site);
}
template <int count>
static inline void gart_take_registers(GART_SIM_SITE) {
  gart_sim::hooks->set_registers(count, true, site);
}
#endif
#endif
