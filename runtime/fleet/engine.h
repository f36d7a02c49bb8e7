// What runs parts on one device.
#pragma once

#include <span>
#include <string>

#include "gart/gart.hpp"
#include "runtime/memory.h"

namespace gart::fleet {

/// Memory of a device's own: a GPU's. Values that GPUs alone read stay there. What throws throws Failure.
class Space {
 public:
  virtual ~Space() = default;
  virtual const char* name() const = 0;  ///< as tensors call it: "cuda:1"
  virtual MemorySource& memory() = 0;
  // By the thread of the engine that has it; both wait for the end.
  /// From `other`, where nobody writes to `from` any more.
  virtual void copy_in(void* to, const Space& other, const void* from, size_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, size_t bytes) = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Runs entry point `entry`, a part, and waits for its end. `inputs` and `outputs`, where results go, are in host
  /// memory or the engine's space; outputs without data, where that is not known, go to memory of the engine's.
  /// `results`: where they are, valid until the next run. On one thread at a time. Fails with ErrorCode::device_lost if
  /// the device will not run again.
  virtual Result<void> run(uint32_t entry, std::span<const TensorView> inputs, std::span<const OutputBuffer> outputs,
                           std::span<TensorView> results) = 0;
  /// Null: the host's memory.
  virtual Space* space() { return nullptr; }
  /// The thread that will call run() begins.
  virtual void begin_thread() {}
};

}  // namespace gart::fleet
