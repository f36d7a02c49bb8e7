#include "tests/gpu/keep_context.h"

#include "runtime/cuda/driver/device.h"

namespace gcg::test {

void keep_context() {
  static const auto driver = gart::cuda::open_driver();
  if (driver) static const gart::cuda::Device keeps_the_context(**driver, 0);
}

}  // namespace gcg::test
