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

  // Checks everything that the driver can check. Returns an error code and sets its text.
  static int make(const KernelParams& params, const Context* context, KernelWork& out, std::string& error);
  // `is_early`: the kernel may start before the end of the launches for which its threads wait.
  [[nodiscard]] int run(Footprint& footprint, bool is_early = false) const;
  [[nodiscard]] std::string name() const { return function->kernel->name; }
};

// A copy between two ranges of bytes, each in host, pinned or device memory.
struct CopyWork {
  uint64_t to = 0, from = 0;
  size_t bytes = 0;
  bool to_device = false, from_device = false;

  static int make(const Copy3D& params, CopyWork& out, std::string& error);
  // The fault if a range is not within an allocation, or "".
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] int run(Footprint& footprint) const;
  // Makes the target unreadable for the host until the copy is done.
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

// Device work of a simulated library. The library states which bytes it touches.
struct LibraryWork {
  std::string name;
  std::function<void()> compute;
  std::vector<Range> reads, writes;
  [[nodiscard]] int run(Footprint& footprint) const;
};

using Run = std::function<int(Footprint&)>;
// Enqueues work on the stream, after the stream's earlier work.
void enqueue(Stream& stream, std::string label, Run run);
// Runs all work up to operation `id`, and stores an error in the context.
int wait_for(Context* context, OperationQueue::Id id);
int advance(Context* context);

}  // namespace gart_sim
#endif
