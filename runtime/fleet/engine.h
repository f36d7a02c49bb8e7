// What runs parts on one device.
#pragma once

#include <span>
#include <string>

#include "gart/gart.hpp"

namespace gart::fleet {

class Engine {
 public:
  virtual ~Engine() = default;
  /// Runs entry point `entry`, a part, and waits for its end. `outputs`: where results go, in host memory; without
  /// data, if that is not known, to memory of the engine's. `results`: where they are, valid until the next run. On one
  /// thread at a time. Fails with ErrorCode::device_lost if the device will not run again.
  virtual Result<void> run(uint32_t entry, std::span<const TensorView> inputs, std::span<const OutputBuffer> outputs,
                           std::span<TensorView> results) = 0;
  /// The thread that will call run() begins.
  virtual void begin_thread() {}
};

}  // namespace gart::fleet
