#include "runtime/fleet_devices/gpu_space.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "runtime/cuda/driver/device.h"
#include "runtime/errors.h"

namespace gart::fleet {

#if !GCC_GRAPH_CUDA_RUNTIME
std::unique_ptr<Space> open_gpu_space(std::string_view) { return nullptr; }
#else
namespace {

cuda::CUdeviceptr pointer(const void* address) { return reinterpret_cast<cuda::CUdeviceptr>(address); }

class GpuSpace final : public Space {
 public:
  GpuSpace(const cuda::Driver& driver, int ordinal) : ordinal_(ordinal), device_(driver, ordinal), stream_(device_) {}

  const char* name() const override { return device_.name.c_str(); }
  MemorySource& memory() override { return device_.memory; }

  void copy_in(void* to, const Space& other, const void* from, size_t bytes) override {
    const auto& maker = static_cast<const GpuSpace&>(other);
    const cuda::CurrentContext current(device_);
    reach(maker);
    GART_CUDA(device_, cuMemcpyPeerAsync, pointer(to), device_.context, pointer(from), maker.device_.context, bytes,
              stream_.handle);
    GART_CUDA(device_, cuStreamSynchronize, stream_.handle);
  }

  void copy_to_host(void* to, const void* from, size_t bytes) override {
    const cuda::CurrentContext current(device_);
    GART_CUDA(device_, cuMemcpyDtoHAsync_v2, to, pointer(from), bytes, stream_.handle);
    GART_CUDA(device_, cuStreamSynchronize, stream_.handle);
  }

 private:
  /// Enables direct copies from `other`, once. If the machine has no direct path, or another caller has enabled it, the
  /// driver chooses the path.
  void reach(const GpuSpace& other) {
    if (std::find(reached_.begin(), reached_.end(), other.ordinal_) != reached_.end()) return;
    const cuda::Driver& driver = device_.driver;
    cuda::CUdevice here = 0, there = 0;
    int direct = 0;
    if (driver.cuDeviceGet(&here, ordinal_) == cuda::CUDA_SUCCESS &&
        driver.cuDeviceGet(&there, other.ordinal_) == cuda::CUDA_SUCCESS &&
        driver.cuDeviceCanAccessPeer(&direct, here, there) == cuda::CUDA_SUCCESS && direct != 0)
      driver.cuCtxEnablePeerAccess(other.device_.context, 0);
    reached_.push_back(other.ordinal_);
  }

  const int ordinal_;
  cuda::Device device_;
  cuda::Stream stream_;
  std::vector<int> reached_;  // ordinals
};

}  // namespace

std::unique_ptr<Space> open_gpu_space(std::string_view device) {
  constexpr std::string_view kPrefix = "cuda:";
  int ordinal = 0;
  if (!device.starts_with(kPrefix)) return nullptr;
  const auto [end, error] = std::from_chars(device.data() + kPrefix.size(), device.data() + device.size(), ordinal);
  if (error != std::errc()) return nullptr;
  return std::make_unique<GpuSpace>(*value_or_fail(cuda::open_driver()), ordinal);
}
#endif

}  // namespace gart::fleet
