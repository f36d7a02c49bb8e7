#include "tools/gcc-graph/devices/gpu_rate.h"

#if GCC_GRAPH_CUDA_RUNTIME
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "gcc_graph/tune.h"
#include "runtime/cuda/driver/device.h"
#include "runtime/errors.h"

namespace gcg::tools {
namespace {

using namespace gart::cuda;

// Threads per block; one block on each multiprocessor hides the latency of an addition.
constexpr unsigned kThreads = 1024;
constexpr int kAddsPerTurn = 8 * 16;  // multiply-adds per iteration; must match the kernel text

constexpr const char* kText = R"(
extern "C" __global__ void __launch_bounds__(1024) gart_rate(float* never, int turns) {
  float sums[8];
  for (int i = 0; i < 8; ++i) sums[i] = (float)(threadIdx.x + i);
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int again = 0; again < 16; ++again) {
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[i] = fmaf(sums[i], 0.999f, 0.001f);
    }
  }
  float sum = 0.0f;
  for (int i = 0; i < 8; ++i) sum += sums[i];
  if (sum < 0.0f) never[threadIdx.x] = sum;
}
)";

using LaunchKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  CUstream, void**, void**);

LaunchKernel find_launch() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* symbol = library == nullptr ? nullptr : dlsym(library, "cuLaunchKernel");
  if (symbol == nullptr) gart::fail(gart::ErrorCode::unsupported, "libcuda.so.1 has no function cuLaunchKernel");
  LaunchKernel launch = nullptr;
  std::memcpy(&launch, &symbol, sizeof launch);
  return launch;
}

class Rate {
 public:
  Rate(const Driver& driver, int ordinal, const std::vector<uint8_t>& code)
      : device_(driver, ordinal), stream_(device_), never_(&device_.memory), launch_(find_launch()) {
    const CurrentContext current(device_);
    never_.reserve(kThreads * sizeof(float));
    blocks_ = static_cast<unsigned>(device_.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    GART_CUDA(device_, cuModuleLoadDataEx, &module_, code.data(), 0U, nullptr, nullptr);
    GART_CUDA(device_, cuModuleGetFunction, &function_, module_, "gart_rate");
  }
  ~Rate() {
    if (const CurrentContext current(device_, std::nothrow); current.is_current() && module_ != nullptr)
      device_.driver.cuModuleUnload(module_);
  }

  /// Increases the number of iterations until a launch takes long enough to be timed.
  double measure() {
    constexpr double kLong = 2e-3;  // seconds
    constexpr int kMaxIterations = 1 << 22;
    int iterations = 1;
    double best = seconds_of(iterations);
    while (best < kLong && iterations < kMaxIterations) best = seconds_of(iterations *= 4);
    for (int i = 0; i < 3; ++i) best = std::min(best, seconds_of(iterations));
    return 2.0 * kAddsPerTurn * iterations * kThreads * blocks_ / best * 1e-9;
  }

 private:
  double seconds_of(int iterations) {
    const CurrentContext current(device_);
    void* memory = never_.data();
    void* parameters[] = {static_cast<void*>(&memory), static_cast<void*>(&iterations)};
    const auto begin = std::chrono::steady_clock::now();
    device_.check(launch_(function_, blocks_, 1, 1, kThreads, 1, 1, 0, stream_.handle, parameters, nullptr),
                  "cuLaunchKernel");
    GART_CUDA(device_, cuStreamSynchronize, stream_.handle);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  Device device_;
  Stream stream_;
  gart::Block never_;
  const LaunchKernel launch_;
  unsigned blocks_ = 0;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

}  // namespace

double gpu_rate(int ordinal, const std::string& target, const Driver& driver) {
  const std::vector<uint8_t> code = gcc_graph::assemble_cuda(kText, target);
  return code.empty() ? 0 : Rate(driver, ordinal, code).measure();
}

}  // namespace gcg::tools
#endif
