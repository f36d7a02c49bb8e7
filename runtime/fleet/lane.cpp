#include "runtime/fleet/lane.h"

#include <new>
#include <utility>

#include "runtime/errors.h"

namespace gart::fleet {

Lane::Lane(std::string device, std::unique_ptr<Engine> engine, DeviceQueue& queue)
    : device_(std::move(device)), engine_(std::move(engine)), queue_(queue) {
  queue_.join(1);
}

Lane::~Lane() {
  queue_.join(-1);
  queue_.add_weights(-weight_bytes_);
}

void Lane::set_weights(int64_t bytes) {
  if (!queue_.add_weights(bytes - weight_bytes_))
    fail(ErrorCode::out_of_memory, "device '", queue_.name(), "' has ", queue_.memory(), " bytes, but the weights of '",
         device_, "' take ", bytes, " bytes, and those of other programs take ", weights_of_others());
  weight_bytes_ = bytes;
}

void Lane::lose(const Error& why) noexcept {
  if (is_lost()) return;
  try {
    loss_ = why;
  } catch (const std::bad_alloc&) {
    loss_.code = why.code;
  }
  lost_.store(true, std::memory_order_release);
}

}  // namespace gart::fleet
