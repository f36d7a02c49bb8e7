#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include "tools/gcc-graph/devices/gpu_links.h"
#include "tools/gcc-graph/devices/gpu_rate.h"
#include "tools/gcc-graph/devices/inventory.h"

#if GCC_GRAPH_CUDA_RUNTIME
#include "runtime/cuda/driver/device.h"
#include "runtime/errors.h"
#include "tools/gcc-graph/support/fail.h"
#endif

namespace gcg::tools {

#if !GCC_GRAPH_CUDA_RUNTIME
void add_gpus(Inventory&, bool) {}
#else
namespace {

using namespace gart::cuda;

/// Driver functions that only the inventory uses; null if the driver lacks them.
struct MoreFunctions {
  CUresult (*get_name)(char*, int, CUdevice) = nullptr;
  CUresult (*total_memory)(size_t*, CUdevice) = nullptr;

  MoreFunctions() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      void* symbol = dlsym(library, name);
      std::memcpy(&function, &symbol, sizeof symbol);
    };
    find(get_name, "cuDeviceGetName");
    find(total_memory, "cuDeviceTotalMem_v2");
  }
};

FleetDevice gpu(int ordinal, CUdevice handle, int sm, const MoreFunctions& more) {
  FleetDevice device;
  device.name = concat("cuda:", ordinal);
  device.kind = FleetDevice::Kind::cuda;
  device.ordinal = ordinal;
  device.target = gcc_graph::target_of_sm(sm);
  size_t bytes = 0;
  if (more.total_memory != nullptr && more.total_memory(&bytes, handle) == CUDA_SUCCESS)
    device.memory_bytes = static_cast<int64_t>(bytes);
  return device;
}

std::string about_gpu(CUdevice handle, int sm, const std::vector<CUdevice>& all, const Driver& driver,
                      const MoreFunctions& more) {
  char name[256] = {};
  std::string text = concat("sm_", sm);
  if (more.get_name != nullptr && more.get_name(name, sizeof name - 1, handle) == CUDA_SUCCESS)
    text = concat(name, ", ", text);
  std::string peers;
  for (size_t i = 0; i < all.size(); ++i) {
    int reaches = 0;
    const bool known = all[i] != handle && driver.cuDeviceCanAccessPeer(&reaches, handle, all[i]) == CUDA_SUCCESS;
    if (known && reaches != 0) peers += concat(peers.empty() ? "" : ", ", "cuda:", i);
  }
  return peers.empty() ? text : text + ", reaches the memory of " + peers;
}

/// GB/s of the fastest of a few copies within the GPU; counts read and written bytes.
double copy_rate(int ordinal, const Driver& driver) {
  constexpr size_t kBytes = size_t{256} << 20;
  Device device(driver, ordinal);
  const CurrentContext current(device);
  const Stream stream(device);
  gart::Block from(&device.memory), to(&device.memory);
  from.reserve(kBytes);
  to.reserve(kBytes);
  const std::vector<uint8_t> zeros(kBytes);  // written first, because memory that was never written may have no pages
  GART_CUDA(device, cuMemcpyHtoDAsync_v2, reinterpret_cast<CUdeviceptr>(from.data()), zeros.data(), kBytes,
            stream.handle);
  GART_CUDA(device, cuStreamSynchronize, stream.handle);
  double best = 1e30;
  for (int i = 0; i < 8; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    GART_CUDA(device, cuMemcpyDtoDAsync_v2, reinterpret_cast<CUdeviceptr>(to.data()),
              reinterpret_cast<CUdeviceptr>(from.data()), kBytes, stream.handle);
    GART_CUDA(device, cuStreamSynchronize, stream.handle);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return 2.0 * kBytes / best * 1e-9;
}

/// Adds a remark if the measurement fails.
void attempt(Inventory& inventory, const std::string& what, const std::function<void()>& measure) {
  try {
    measure();
  } catch (const gart::Failure& failure) {
    inventory.remarks.push_back(concat(what, ": not measured: ", failure.error.message));
  } catch (const std::exception& error) {
    inventory.remarks.push_back(concat(what, ": not measured: ", error.what()));
  }
}

/// Measures the links between the GPUs.
void add_peer_links(Inventory& inventory, const Driver& driver) {
  Fleet& fleet = inventory.fleet;
  for (int from = 0; from < static_cast<int>(fleet.devices.size()); ++from)
    for (int to = 0; to < static_cast<int>(fleet.devices.size()); ++to) {
      const FleetDevice &a = fleet.devices[static_cast<size_t>(from)], &b = fleet.devices[static_cast<size_t>(to)];
      if (from == to || a.kind != FleetDevice::Kind::cuda || b.kind != FleetDevice::Kind::cuda) continue;
      attempt(inventory, concat(a.name, " to ", b.name), [&] {
        FleetLink link = measure_peer_link(a.ordinal, b.ordinal, driver);
        link.from = from;
        link.to = to;
        fleet.links.push_back(link);
      });
    }
}

}  // namespace

void add_gpus(Inventory& inventory, bool probe) {
  const auto opened = open_driver();
  if (!opened.ok()) return;  // a machine without GPUs
  const Driver& driver = **opened;
  const MoreFunctions more;
  int count = 0;
  if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) return;
  std::vector<CUdevice> handles(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i)
    if (driver.cuDeviceGet(&handles[static_cast<size_t>(i)], i) != CUDA_SUCCESS) return;
  std::vector<HostLink> links;
  for (int i = 0; i < count; ++i) {
    const CUdevice handle = handles[static_cast<size_t>(i)];
    int sm = 0;
    if (const CUresult result = get_sm(driver, handle, sm); result != CUDA_SUCCESS) {
      inventory.remarks.push_back(concat("cuda:", i, ": ", result_text(driver, result)));
      continue;
    }
    FleetDevice device = gpu(i, handle, sm, more);
    if (probe) {
      attempt(inventory, device.name, [&] { device.gflops = gpu_rate(i, device.target, driver); });
      attempt(inventory, device.name, [&] {
        device.gbytes_per_s = copy_rate(i, driver);
        links.push_back(measure_host_link(static_cast<int>(inventory.fleet.devices.size()), i, driver));
      });
    }
    inventory.fleet.devices.push_back(std::move(device));
    inventory.about.push_back(about_gpu(handle, sm, handles, driver, more));
  }
  add_host_links(links, inventory.fleet);
  if (probe) add_peer_links(inventory, driver);
}
#endif

}  // namespace gcg::tools
