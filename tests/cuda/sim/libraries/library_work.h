// Shared by the simulated libraries: their work in the form that the simulated driver accepts.
#ifndef GART_TESTS_CUDA_SIM_LIBRARIES_LIBRARY_WORK_H
#define GART_TESTS_CUDA_SIM_LIBRARIES_LIBRARY_WORK_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/cuda/sim/driver/gart_sim.h"

// An exported function of a simulated library.
#define GART_SIM_API extern "C" __attribute__((visibility("default")))

namespace gart_sim {

// Strides are in elements.
struct Tensor {
  uint64_t address = 0;
  int64_t element_bytes = 4;
  std::vector<int64_t> extents, strides;
};

class LibraryWork {
 public:
  LibraryWork(const char* name, std::function<void()> compute) : name_(name), compute_(std::move(compute)) {}
  LibraryWork& reads(const Tensor& tensor) { return add(reads_, tensor); }
  LibraryWork& writes(const Tensor& tensor) { return add(writes_, tensor); }
  // Each returns a CUresult.
  [[nodiscard]] int enqueue(void* stream) const { return give(&gart_sim_enqueue, stream); }
  [[nodiscard]] int add_to(void* graph) const { return give(&gart_sim_add_work, graph); }

 private:
  using Ranges = std::vector<gart_sim_range>;
  LibraryWork& add(Ranges& ranges, const Tensor& t);
  int give(int (*take)(void*, const gart_sim_work*), void* to) const;

  const char* name_;
  std::function<void()> compute_;
  Ranges reads_, writes_;
};

// Increments the count that gart_sim_count returns for this name. `what` does not begin with "cu", because tests can
// make the k-th of all driver calls ("cu...") fail.
void count(const std::string& what);

// The number in an environment variable.
size_t setting(const char* variable, size_t otherwise);

}  // namespace gart_sim
#endif
