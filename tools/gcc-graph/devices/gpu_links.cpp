#include "tools/gcc-graph/devices/gpu_links.h"

#if GCC_GRAPH_CUDA_RUNTIME
#include <algorithm>
#include <chrono>

#include "runtime/cuda/driver/device.h"
#include "runtime/errors.h"

namespace gcg::tools {
namespace {

using namespace gart::cuda;

constexpr size_t kFew = 64, kMany = size_t{64} << 20;  // bytes

/// Microseconds of the fastest of a few copies.
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

/// Derives latency from a copy of a few bytes, and bandwidth from a large one.
template <class Copy>
FleetLink link_of(Device& device, const Stream& stream, const Copy& copy) {
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
  Device gpu(driver, ordinal);
  const CurrentContext current(gpu);
  const Stream stream(gpu);
  gart::Block there(&gpu.memory), here;
  there.reserve(kMany);
  here.reserve(kMany);
  std::fill_n(here.data(), kMany, uint8_t{1});
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

FleetLink measure_peer_link(int from_ordinal, int to_ordinal, const Driver& driver) {
  Device from(driver, from_ordinal), to(driver, to_ordinal);
  gart::Block there(&from.memory), here(&to.memory);
  there.reserve(kMany);
  here.reserve(kMany);
  const auto address = [](const gart::Block& block) { return reinterpret_cast<CUdeviceptr>(block.data()); };
  {
    const CurrentContext current(from);
    const Stream stream(from);
    GART_CUDA(from, cuMemsetD32Async, address(there), 1U, kMany / 4, stream.handle);
    GART_CUDA(from, cuStreamSynchronize, stream.handle);
  }
  const CurrentContext current(to);
  int direct = 0;
  if (driver.cuDeviceCanAccessPeer(&direct, to_ordinal, from_ordinal) == CUDA_SUCCESS && direct != 0)
    driver.cuCtxEnablePeerAccess(from.context, 0);
  const Stream stream(to);
  return link_of(to, stream, [&](size_t bytes) {
    GART_CUDA(to, cuMemcpyPeerAsync, address(here), to.context, address(there), from.context, bytes, stream.handle);
  });
}

void add_host_links(const std::vector<HostLink>& gpus, Fleet& fleet) {
  for (const HostLink& gpu : gpus) {
    for (int d = 0; d < static_cast<int>(fleet.devices.size()); ++d) {
      const FleetDevice& other = fleet.devices[static_cast<size_t>(d)];
      if (other.kind != FleetDevice::Kind::cpu || !other.host.empty()) continue;
      fleet.links.push_back(between(d, gpu.device, gpu.in));
      fleet.links.push_back(between(gpu.device, d, gpu.out));
    }
  }
}

}  // namespace gcg::tools
#endif
