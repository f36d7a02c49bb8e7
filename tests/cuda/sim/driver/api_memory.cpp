// Memory of the device and of the host; copies and fills on streams.
#include <cstring>

#include "tests/cuda/sim/driver/work.h"

using namespace gart_sim;

namespace {

bool is_pinned(uint64_t address, size_t bytes) {
  const World& world = World::get();
  DeviceMemory& memory = DeviceMemory::get();
  if (memory.is_watched(address)) return memory.contains(address, bytes);
  auto it = world.registered.upper_bound(address);
  if (it == world.registered.begin()) return false;
  --it;
  return address + bytes <= it->first + it->second;
}

int enqueue_copy(const Call& call, CopyWork work, void* stream_handle) {
  Stream* stream = call.stream(stream_handle);
  if (!stream) return call.misuse("the stream is not alive", kInvalidHandle);
  if (work.bytes == 0) return 0;
  if (const std::string text = work.problem(); !text.empty()) return call.misuse(text);
  const bool pageable_source = !work.from_device && !is_pinned(work.from, work.bytes);
  const bool pageable_target = !work.to_device && !is_pinned(work.to, work.bytes);
  if (pageable_source) {
    // The call must copy pageable memory before it returns, as in the real driver.
    auto staged =
        std::make_shared<std::vector<unsigned char>>(reinterpret_cast<const unsigned char*>(work.from),
                                                     reinterpret_cast<const unsigned char*>(work.from) + work.bytes);
    work.from = reinterpret_cast<uint64_t>(staged->data());
    ++World::get().counts["pageable_memcpys"];
    enqueue(*stream, "copy from pageable memory", [work, staged](Footprint& footprint) { return work.run(footprint); });
    return 0;
  }
  if (stream->context->queue.pending() == 0) work.hide_target();  // no earlier work can still read the target
  enqueue(*stream, "copy", [work](Footprint& footprint) { return work.run(footprint); });
  if (!pageable_target) return 0;
  ++World::get().counts["pageable_memcpys"];
  return wait_for(call.context_of(), stream->last);
}

int enqueue_fill(const Call& call, const FillWork& work, void* stream_handle) {
  Stream* stream = call.stream(stream_handle);
  if (!stream) return call.misuse("the stream is not alive", kInvalidHandle);
  if (work.count == 0) return 0;
  if (const std::string text = work.problem(); !text.empty()) return call.misuse(text);
  enqueue(*stream, "fill", [work](Footprint& footprint) { return work.run(footprint); });
  return 0;
}

/// True if the memory is on that context's device.
bool is_in(uint64_t address, const void* context) {
  const Allocation* allocation = DeviceMemory::get().find(address);
  for (const auto& known : World::get().contexts)
    if (known.get() == context && known->retained > 0)
      return allocation != nullptr && allocation->device == known->device;
  return false;
}

// True if source and target are on different devices: a plain device copy works on one device only.
bool crosses_devices(uint64_t to, uint64_t from) {
  const Allocation *target = DeviceMemory::get().find(to), *source = DeviceMemory::get().find(from);
  return target != nullptr && source != nullptr && target->device != DeviceMemory::kHost &&
         source->device != DeviceMemory::kHost && target->device != source->device;
}

int allocate(const Call& call, void* out, size_t bytes, int device) {
  if (!out || bytes == 0) return call.misuse("no place for the address, or 0 bytes");
  const uint64_t address = DeviceMemory::get().allocate(device, bytes);
  if (!address) return kOutOfMemory;
  memcpy(out, &address, sizeof address);
  return 0;
}

// Waits for all work first, as the real driver does, because running work may use the memory.
int release(const Call& call, uint64_t address, bool on_host) {
  if (address == 0) return 0;
  Context* context = call.context_of();
  if (context->queue.pending()) {
    if (const int error = wait_for(context, OperationQueue::kAll)) return error;
  }
  const bool is_host = !DeviceMemory::get().is_device_address(address);
  if (is_host != on_host || !DeviceMemory::get().free(address)) return call.misuse("the memory is not alive");
  return 0;
}

}  // namespace

GART_SIM_API cuMemGetInfo_v2(size_t* available, size_t* total) {
  GART_SIM_CALL("cuMemGetInfo_v2");
  if (!available || !total) return call.misuse("no place for the sizes");
  const DeviceMemory& memory = DeviceMemory::get();
  *total = memory.capacity();
  *available = *total - std::min(*total, memory.used(call.context_of()->device));
  return 0;
}

GART_SIM_API cuMemAlloc_v2(DevicePointer* out, size_t bytes) {
  GART_SIM_CALL("cuMemAlloc_v2");
  ++world.counts["allocations"];
  return allocate(call, out, bytes, call.context_of()->device);
}

GART_SIM_API cuMemFree_v2(DevicePointer address) {
  GART_SIM_CALL("cuMemFree_v2");
  return release(call, address, false);
}

GART_SIM_API cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  GART_SIM_CALL("cuMemHostAlloc");
  if (flags & ~7u) return call.misuse("unknown flags");
  ++world.counts["host_allocations"];
  return allocate(call, out, bytes, DeviceMemory::kHost);
}

GART_SIM_API cuMemFreeHost(void* address) {
  GART_SIM_CALL("cuMemFreeHost");
  return release(call, reinterpret_cast<uint64_t>(address), true);
}

GART_SIM_API cuMemHostRegister_v2(void* address, size_t bytes, unsigned) {
  GART_SIM_CALL("cuMemHostRegister_v2");
  if (!address || !bytes) return call.misuse("no memory");
  world.registered[reinterpret_cast<uint64_t>(address)] = bytes;
  return 0;
}

GART_SIM_API cuMemHostUnregister(void* address) {
  GART_SIM_CALL("cuMemHostUnregister");
  return world.registered.erase(reinterpret_cast<uint64_t>(address)) ? 0 : call.misuse("the memory is not registered");
}

GART_SIM_API cuMemAllocAsync(DevicePointer* out, size_t bytes, void* stream) {
  GART_SIM_CALL("cuMemAllocAsync");
  if (!call.stream(stream)) return call.misuse("the stream is not alive", kInvalidHandle);
  ++world.counts["allocations"];
  return allocate(call, out, bytes, call.context_of()->device);
}

GART_SIM_API cuMemFreeAsync(DevicePointer address, void* stream_handle) {
  GART_SIM_CALL("cuMemFreeAsync");
  Stream* stream = call.stream(stream_handle);
  const Allocation* allocation = DeviceMemory::get().find(address);
  if (!stream || !allocation || allocation->begin != address)
    return call.misuse("the stream or the memory is not alive");
  enqueue(*stream, "free", [address](Footprint& footprint) {
    const Allocation* freed = DeviceMemory::get().find(address);
    if (freed) footprint.writes = {{freed->begin, freed->begin + freed->bytes}};
    return DeviceMemory::get().free(address) ? 0 : kIllegalAddress;
  });
  return 0;
}

GART_SIM_API cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, void* stream) {
  GART_SIM_CALL("cuMemcpyHtoDAsync_v2");
  return enqueue_copy(call, {to, reinterpret_cast<uint64_t>(from), bytes, true, false}, stream);
}

GART_SIM_API cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, void* stream) {
  GART_SIM_CALL("cuMemcpyDtoHAsync_v2");
  return enqueue_copy(call, {reinterpret_cast<uint64_t>(to), from, bytes, false, true}, stream);
}

GART_SIM_API cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, void* stream) {
  GART_SIM_CALL("cuMemcpyDtoDAsync_v2");
  if (crosses_devices(to, from)) return call.misuse("source and target are of two devices: cuMemcpyPeerAsync copies");
  return enqueue_copy(call, {to, from, bytes, true, true}, stream);
}

// Does not wait for work that the other context has enqueued.
GART_SIM_API cuMemcpyPeerAsync(DevicePointer to, void* to_context, DevicePointer from, void* from_context, size_t bytes,
                               void* stream) {
  GART_SIM_CALL("cuMemcpyPeerAsync");
  if (!is_in(to, to_context) || !is_in(from, from_context))
    return call.misuse("the memory is not of the context that is given for it");
  const int error = enqueue_copy(call, {to, from, bytes, true, true}, stream);
  const auto* here = static_cast<Context*>(to_context);
  const auto* there = static_cast<Context*>(from_context);
  if (error == 0 && here->device != there->device)
    ++world.counts[world.peers.contains({here->device, there->device}) ? "direct_peer_copies" : "staged_peer_copies"];
  return error;
}

GART_SIM_API cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, void* stream) {
  GART_SIM_CALL("cuMemsetD8Async");
  return enqueue_fill(call, {to, value, 1, count}, stream);
}

GART_SIM_API cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, void* stream) {
  GART_SIM_CALL("cuMemsetD32Async");
  return enqueue_fill(call, {to, value, 4, count}, stream);
}

// CONTEXT 1, MEMORY_TYPE 2, DEVICE_ORDINAL 9.
GART_SIM_API cuPointerGetAttribute(void* out, int attribute, DevicePointer address) {
  GART_SIM_CALL("cuPointerGetAttribute");
  const Allocation* allocation = DeviceMemory::get().find(address);
  if (!out) return call.misuse("no place for the value");
  if (!allocation) return kInvalidValue;
  const bool on_host = allocation->device == DeviceMemory::kHost;
  const int type = on_host ? 1 : 2, device = on_host ? 0 : allocation->device;
  if (attribute == 2) memcpy(out, &type, sizeof type);
  if (attribute == 9) memcpy(out, &device, sizeof device);
  if (attribute != 2 && attribute != 9)
    return call.misuse("attribute " + std::to_string(attribute) + " is not simulated");
  return 0;
}
