// Times runs whose inputs and outputs stay in a GPU's memory.
#pragma once

#include <memory>
#include <optional>

#include "tools/gcc-graph/io/model_inputs.h"

namespace gcg::tools {

struct DeviceTimes {
  size_t runs = 0;
  double wall_ms = 0;     // from the call to the end of its work
  double enqueue_us = 0;  // from the call until run_async() returns
  double device_ms = 0;   // time between events before and after the work, for launches without gaps
};

/// An invocation with inputs and outputs in the memory of the program's GPU, so its runs copy nothing from or to the
/// host.
class DeviceInvocation {
 public:
  /// Copies the inputs to the GPU. Throws Error with the reason.
  DeviceInvocation(const gart::Program& program, const NamedTensors& inputs);
  ~DeviceInvocation();
  gart::Invocation& get();

  class State;

 private:
  std::unique_ptr<State> state_;
};

/// Medians of the runs within `seconds`; nullopt if the program runs on the CPU. Throws Error with the reason.
std::optional<DeviceTimes> time_on_device(const gart::Program& program, const NamedTensors& inputs, double seconds);

}  // namespace gcg::tools
