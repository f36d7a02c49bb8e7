// A device: memory, and an executor that works in it. The runtime uses CPUs and GPUs only through this interface. All
// functions throw Failure.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "artifact_schema/reader.h"
#include "gart/gart.hpp"
#include "runtime/bound_plan.h"
#include "runtime/entry.h"
#include "runtime/io.h"

namespace gart {

/// A process may have several devices, also of one kind.
class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;  // `site` points into the name
  Device& operator=(const Device&) = delete;
  const std::string name;  ///< "cpu", "cpu:0-1", "cuda:0"
  const Site site;
  /// Number of threads that share the work of one run, including the caller's.
  virtual int threads() const { return 1; }
  /// Fails if the device cannot enqueue runs on the caller's streams.
  virtual void check_streams() const {}
  /// Fails with the error that lost the device, if there was one.
  virtual void check_alive() const {}

 protected:
  /// `space`: name of the memory space; null: the device's own name.
  Device(std::string n, const char* space, MemorySource& memory, MemorySource& pinned)
      : name(std::move(n)), site{space == nullptr ? name.c_str() : space, &memory, &pinned} {}
};

/// A run of a bound plan, as passed to lanes.
struct Run {
  BoundPlan& bound;
  Inputs& inputs;
  Outputs& outputs;
  const BaseAddresses& bases;
};

/// The stream that a run is enqueued on: the lane's own stream, or the caller's (a CUstream).
struct Queue {
  bool is_own = true;
  void* stream = nullptr;
};

/// An invocation's work on a device, executed in the order of the calls. Runs do not overlap.
class Lane {
 public:
  virtual ~Lane() = default;

  /// Called with a plan for new shapes, before its first run.
  virtual void adopt(BoundPlan& plan) = 0;
  /// Prepares runs of an adopted plan with inputs and outputs in host memory, as far as possible in advance.
  virtual void prepare(const Run& run) = 0;
  /// Waits for the last run, because the caller is about to change memory that this run may still use.
  virtual void settle() {}

  /// Opens a run: decides which of the caller's memory is used in place. close() ends it, or abandon() after a failure.
  virtual void open(const Run& run, const Queue& queue) = 0;
  /// Begins the run. Returns true if the lane accepted the whole run at once.
  virtual bool start(const Run& run) = 0;
  virtual void close() = 0;
  virtual void abandon() noexcept = 0;
  /// Waits for the run that was closed last; its outputs are then where outputs.deliver() expects them. Fails if the
  /// run failed. Does nothing if there is no such run, or if it was already waited for.
  virtual void finish() = 0;

  // These functions need an open run. All of them except read() and wait() may return before the work is done.
  virtual void enqueue(const Run& run, const Segment& segment) = 0;
  /// Reads the first `bytes` bytes of the buffer after all earlier work.
  virtual void read(const Run& run, uint32_t buffer, void* to, size_t bytes) = 0;
  virtual void fill(const Run& run, void* to, uint32_t word) = 0;
  virtual void copy(const Run& run, void* to, const void* from, size_t bytes) = 0;
  /// Waits for all work so far; fails if one of its steps did.
  virtual void wait(const Run& run) = 0;
};

/// The part of a program that is on a device: its code and weights.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  virtual Device& device() = 0;
  uint32_t target() const { return target_; }  ///< the target whose code it runs
  /// Loads the code of all plans' steps, and the weights they use.
  virtual void load(const ArtifactView& artifact, std::span<Entry> entries) = 0;
  virtual std::unique_ptr<Lane> new_lane() = 0;
  /// The addresses of the weights section and the packed region on the device.
  virtual BaseAddresses bases() = 0;

 protected:
  explicit DeviceProgram(uint32_t target) : target_(target) {}

 private:
  const uint32_t target_;
};

/// The result of a choice of the device for options.device.
struct DeviceChoice {
  std::unique_ptr<DeviceProgram> program;  // null: no device was found
  std::string reason;                      // why no device was found
};

/// Chooses the GPU that options.device names ("" and "cuda": the first) with the artifact's best code for it. If
/// options.target is given, only code of that target counts.
DeviceChoice choose_cuda(const fb::Manifest& manifest, const LoadOptions& options);

}  // namespace gart
