// Runs parts of a model on one device.
#pragma once

#include <span>
#include <string>

#include "gart/gart.hpp"
#include "runtime/memory.h"

namespace gart::fleet {

/// The memory of a device that has its own, such as a GPU. Values that only GPUs read stay there. Functions that can
/// fail throw Failure.
class Space {
 public:
  virtual ~Space() = default;
  virtual const char* name() const = 0;  ///< its name in tensors
  virtual MemorySource& memory() = 0;
  // The thread of the engine that owns the space calls both functions. They return at the end of the copy. copy_in
  // copies from `other`; no thread writes to `from` during or after the copy.
  virtual void copy_in(void* to, const Space& other, const void* from, size_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, size_t bytes) = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Runs entry point `entry`, a part, and waits for its end. `inputs` and `outputs` are in host memory or the engine's
  /// space. Results go to `outputs`. An output without data goes to the engine's memory, because its size is not known.
  /// `results` says where the results are; it is valid until the next run. Only one thread may call it at a time. Fails
  /// with ErrorCode::device_lost if the device will not run again.
  virtual Result<void> run(uint32_t entry, std::span<const TensorView> inputs, std::span<const OutputBuffer> outputs,
                           std::span<TensorView> results) = 0;
  /// The engine's own memory; null if it uses the host's memory.
  virtual Space* space() { return nullptr; }
  /// Called at the start of the thread that will call run().
  virtual void begin_thread() {}
};

}  // namespace gart::fleet
