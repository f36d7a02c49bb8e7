#include "gart/manager.hpp"

#include "runtime/errors.h"
#include "runtime/fleet/device_queue.h"

namespace gart::fleet {

Manager::Manager(std::shared_ptr<detail::DeviceQueues> queues) : queues_(std::move(queues)) {}

Result<Manager> Manager::open(std::span<const MemoryLimit> memory) {
  return guarded([&] {
    for (size_t i = 0; i < memory.size(); ++i) {
      if (memory[i].bytes <= 0)
        fail(ErrorCode::invalid_argument, "device '", memory[i].device, "' is given ", memory[i].bytes,
             " bytes; at least 1 is needed");
      for (size_t k = 0; k < i; ++k)
        if (memory[k].device == memory[i].device)
          fail(ErrorCode::invalid_argument, "device '", memory[i].device, "' is given memory twice");
    }
    return Manager(std::make_shared<detail::DeviceQueues>(std::vector<MemoryLimit>(memory.begin(), memory.end())));
  });
}

std::vector<DeviceLoad> Manager::devices() const { return queues_->loads(); }

}  // namespace gart::fleet
