// Runs parts of a model on one device.
#pragma once

#include <span>
#include <string>

#include "gart/gart.hpp"
#include "runtime/memory.h"

namespace gart::fleet {

/// A device's own memory: a GPU's. Values that only GPUs read stay there. Functions that throw throw Failure.
class Space {
 public:
  virtual ~Space() = default;
  virtual const char* name() const = 0;  ///< its name in tensors: "cuda:1"
  virtual MemorySource& memory() = 0;
  // Both are called by the thread of the engine that owns the space, and wait for the end of the copy.
  /// Copies from `other`; nothing writes to `from` any more.
  virtual void copy_in(void* to, const Space& other, const void* from, size_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, size_t bytes) = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Runs entry point `entry`, a part, and waits for its end. `inputs` and `outputs` are in host memory or the engine's
  /// space. Results go to `outputs`; an output without data goes to the engine's memory, because its size is not known.
  /// `results`: where the results are, valid until the next run. Call it on one thread at a time. Fails with
  /// ErrorCode::device_lost if the device will not run again.
  virtual Result<void> run(uint32_t entry, std::span<const TensorView> inputs, std::span<const OutputBuffer> outputs,
                           std::span<TensorView> results) = 0;
  /// Null if the engine uses the host's memory.
  virtual Space* space() { return nullptr; }
  /// Called at the start of the thread that will call run().
  virtual void begin_thread() {}
};

}  // namespace gart::fleet
