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
  /// Spaces of one family copy from each other. A value that two families need passes through the host.
  virtual const void* family() const { return nullptr; }
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
};

/// An engine that loads the parts of a model.
class PartEngine : public Engine {
 public:
  /// Loads the parts that are not loaded yet. Parts that are already loaded may run meanwhile. Throws Failure.
  virtual void add(std::span<const uint32_t> parts) = 0;
  /// The device, such as "cpu:0-1", and the target whose code runs. Both are empty before the first part.
  virtual const std::string& device() const = 0;
  virtual const std::string& target() const = 0;
};

}  // namespace gart::fleet
