// Kernels, copies and fills as operations on a stream.
#ifndef GART_TESTS_CUDA_SIM_DRIVER_WORK_H
#define GART_TESTS_CUDA_SIM_DRIVER_WORK_H

#include <functional>
#include <string>
#include <vector>

#include "tests/cuda/sim/driver/world.h"

namespace gart_sim {

// A kernel with its arguments copied, as the driver copies them when the launch is described.
struct KernelWork {
  Function* function = nullptr;
  Triple grid{1, 1, 1}, block{1, 1, 1};
  unsigned shared_bytes = 0;
  std::vector<std::vector<unsigned char>> arguments;

  // Checks everything the driver can check; an error and its text.
  static int make(const KernelParams& params, const Context* context, KernelWork& out, std::string& error);
  // `is_early`: it may start before what its threads wait for has ended.
  [[nodiscard]] int run(Footprint& footprint, bool is_early = false) const;
  [[nodiscard]] std::string name() const { return function->kernel->name; }
};

// One range of bytes on either side: host, pinned or device memory.
struct CopyWork {
  uint64_t to = 0, from = 0;
  size_t bytes = 0;
  bool to_device = false, from_device = false;

  static int make(const Copy3D& params, CopyWork& out, std::string& error);
  // Do the ranges lie in allocations?
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] int run(Footprint& footprint) const;
  // Until it is done, the host sees nothing of what the copy brings, and nothing older either.
  void hide_target() const;
};

struct FillWork {
  uint64_t to = 0;
  unsigned value = 0, element_bytes = 1;
  size_t count = 0;

  static int make(const MemsetParams& params, FillWork& out, std::string& error);
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] int run(Footprint& footprint) const;
};

// What a simulated library does on the device: it says itself which bytes it touches.
struct LibraryWork {
  std::string name;
  std::function<void()> compute;
  std::vector<Range> reads, writes;
  [[nodiscard]] int run(Footprint& footprint) const;
};

using Run = std::function<int(Footprint&)>;
// Adds to the stream, after what is there.
void enqueue(Stream& stream, std::string label, Run run);
// Runs what the stream, or an event, waits for, and turns an error into the context's.
int wait_for(Context* context, OperationQueue::Id id);
int advance(Context* context);

}  // namespace gart_sim
#endif
