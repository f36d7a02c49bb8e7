#include "compiler/fleet/fleet_tables.h"

namespace gcg {

namespace fb = gart::fb;

std::unique_ptr<fb::FleetDeviceT> emit_device(const FleetDevice& device) {
  auto out = std::make_unique<fb::FleetDeviceT>();
  out->name = device.name;
  out->kind = device.kind == DeviceClass::cuda ? fb::TargetKind::cuda_sm : fb::TargetKind::cpu;
  out->cores = {device.cores.begin(), device.cores.end()};
  out->ordinal = static_cast<uint32_t>(device.ordinal);
  out->target = device.target;
  out->host = device.host;
  out->memory = static_cast<uint64_t>(device.memory_bytes);
  out->supports = device.supports;
  out->denies = device.denies;
  out->infers = device.infers;
  out->trains = device.trains;
  out->gflops = device.gflops;
  out->gbytes_per_s = device.gbytes_per_s;
  return out;
}

std::unique_ptr<fb::FleetLinkT> emit_link(const FleetLink& link) {
  auto out = std::make_unique<fb::FleetLinkT>();
  out->from = static_cast<uint32_t>(link.from);
  out->to = static_cast<uint32_t>(link.to);
  out->gbytes_per_s = link.gbytes_per_s;
  out->us = link.us;
  return out;
}

}  // namespace gcg
