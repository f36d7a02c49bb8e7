#include "tools/gcc-graph/devices/host_links.h"

#if GCC_GRAPH_CUDA_RUNTIME
#include <algorithm>
#include <chrono>

#include "runtime/cuda/driver/device.h"
#include "runtime/errors.h"

namespace gcg::tools {
namespace {

using namespace gart::cuda;

/// Microseconds of the fastest of a few.
template <class Copy>
double least_us(Device& device, const Stream& stream, const Copy& copy) {
  double best = 1e30;
  for (int i = 0; i < 8; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    copy();
    GART_CUDA(device, cuStreamSynchronize, stream.handle);
    best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// Of copies of a few bytes and of many.
template <class Copy>
FleetLink link_of(Device& device, const Stream& stream, const Copy& copy) {
  constexpr size_t kFew = 64, kMany = size_t{64} << 20;
  const double few = least_us(device, stream, [&] { copy(kFew); });
  const double many = least_us(device, stream, [&] { copy(kMany); });
  FleetLink link;
  link.us = few;
  link.gbytes_per_s = static_cast<double>(kMany) / std::max(many - few, 1e-3 * many) * 1e-3;
  return link;
}

FleetLink between(int from, int to, const FleetLink& like) { return {from, to, like.gbytes_per_s, like.us}; }

}  // namespace

HostLink measure_host_link(int device, int ordinal, const Driver& driver) {
  constexpr size_t kBytes = size_t{64} << 20;
  Device gpu(driver, ordinal);
  const CurrentContext current(gpu);
  const Stream stream(gpu);
  gart::Block there(&gpu.memory), here;
  there.reserve(kBytes);
  here.reserve(kBytes);
  std::fill_n(here.data(), kBytes, uint8_t{1});
  const auto address = reinterpret_cast<CUdeviceptr>(there.data());
  HostLink link;
  link.device = device;
  link.in = link_of(gpu, stream, [&](size_t bytes) {
    GART_CUDA(gpu, cuMemcpyHtoDAsync_v2, address, here.data(), bytes, stream.handle);
  });
  link.out = link_of(gpu, stream, [&](size_t bytes) {
    GART_CUDA(gpu, cuMemcpyDtoHAsync_v2, here.data(), address, bytes, stream.handle);
  });
  return link;
}

void add_host_links(const std::vector<HostLink>& gpus, Fleet& fleet) {
  for (const HostLink& gpu : gpus) {
    for (int d = 0; d < static_cast<int>(fleet.devices.size()); ++d) {
      const FleetDevice& other = fleet.devices[static_cast<size_t>(d)];
      if (other.kind != DeviceClass::cpu || !other.host.empty()) continue;
      fleet.links.push_back(between(d, gpu.device, gpu.in));
      fleet.links.push_back(between(gpu.device, d, gpu.out));
    }
    for (const HostLink& other : gpus) {
      if (other.device == gpu.device) continue;
      const double rate = 1 / (1 / gpu.out.gbytes_per_s + 1 / other.in.gbytes_per_s);
      fleet.links.push_back({gpu.device, other.device, rate, gpu.out.us + other.in.us});
    }
  }
}

}  // namespace gcg::tools
#endif
