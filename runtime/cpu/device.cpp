#include "runtime/cpu/device.h"

#include "runtime/errors.h"

namespace gart::cpu {

Device::Device(const std::string& cores_name, int threads)
    : gart::Device(cores_name, "cpu", host_memory(), host_memory()) {
  if (cores_name != "cpu") cores_ = Cores::of_device(cores_name);
  const int count = cores_ ? cores_->count() : Cores::allowed().count();
  if (threads == 0) threads = count;
  if (threads > 1) team_.emplace(threads, count, cores());
}

void Device::check_streams() const {
  fail(ErrorCode::unsupported, "run_async needs a program on a CUDA device, this one runs on '", name, "'");
}

}  // namespace gart::cpu
