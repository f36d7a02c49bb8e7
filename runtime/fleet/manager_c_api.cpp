// The C API of devices that programs share.
#include "runtime/c_status.h"
#include "runtime/fleet/c_handles.h"

using gart::fleet::last_error;

gart_status gart_manager_open(const char* const* devices, const int64_t* bytes, size_t count, gart_manager** manager) {
  return gart::status_of(last_error(), [&] {
    gart::require(manager);
    *manager = nullptr;
    std::vector<gart::fleet::MemoryLimit> memory;
    for (size_t i = 0; i < count; ++i) {
      gart::require(devices, bytes, devices[i]);
      memory.push_back({devices[i], bytes[i]});
    }
    *manager = new gart_manager{value_or_fail(gart::fleet::Manager::open(memory))};
  });
}

void gart_manager_free(gart_manager* manager) { delete manager; }

size_t gart_manager_devices(const gart_manager* manager, gart_device_load* loads, size_t capacity) {
  thread_local std::vector<gart::fleet::DeviceLoad> last;
  const auto look = [&] { last = manager->manager.devices(); };
  if (manager == nullptr || gart::status_of(last_error(), look) != GART_OK) return 0;
  for (size_t i = 0; i < last.size() && i < capacity; ++i) {
    const gart::fleet::DeviceLoad& of = last[i];
    loads[i] = {of.device.c_str(), of.busy ? 1 : 0, of.programs,     of.groups,
                of.work_us,        of.memory,       of.weight_bytes, of.value_bytes};
  }
  return last.size();
}
