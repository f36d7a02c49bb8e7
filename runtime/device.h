// A device: memory, and something that works in it. CPUs and GPUs are used through this alone. Everything here throws
// Failure.
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

/// There may be several in a process, and several of one kind.
class Device {
 public:
  virtual ~Device() = default;
  const std::string name;  ///< "cpu", "cpu:0-1", "cuda:0"
  const Site site;
  /// That share the work of one run, the caller's included.
  virtual int threads() const { return 1; }
  /// Fails where runs cannot be enqueued on streams of the caller's.
  virtual void check_streams() const {}
  /// Fails with the error that lost the device, if one did.
  virtual void check_alive() const {}

 protected:
  /// `space`: null where it is the device's own.
  Device(std::string n, const char* space, MemorySource& memory, MemorySource& pinned)
      : name(std::move(n)), site{space == nullptr ? name.c_str() : space, &memory, &pinned} {}
};

/// A run of a bound plan, as lanes see it.
struct Run {
  BoundPlan& bound;
  Inputs& inputs;
  Outputs& outputs;
  const BaseAddresses& bases;
};

/// The stream that a run is enqueued on: the lane's own, or the caller's (a CUstream).
struct Queue {
  bool own = true;
  void* stream = nullptr;
};

/// An invocation's work on a device, in the order in which it comes. Runs follow each other.
class Lane {
 public:
  virtual ~Lane() = default;

  /// A plan for new shapes, before its first run.
  virtual void adopt(BoundPlan& plan) = 0;
  /// Makes ready what runs of an adopted plan with inputs and outputs in host memory need, as far as it is known before
  /// one.
  virtual void prepare(const Run& run) = 0;
  /// Memory is about to change that the last run may still use: waits for it.
  virtual void settle() {}

  /// A run comes: decides what of the caller's memory is used in place. Ends by
  /// close(), or by abandon() where something failed.
  virtual void open(const Run& run, const Queue& queue) = 0;
  /// The run begins. True: the lane took all of it at once.
  virtual bool start(const Run& run) = 0;
  virtual void close() = 0;
  virtual void abandon() noexcept = 0;
  /// Waits for the run that was closed last; its outputs are then where outputs.deliver() expects them. Fails as the
  /// run did. Nothing to do if there is none, or it was waited for.
  virtual void finish() = 0;

  // Of a run under way. All but read() and wait() may return before the work is done.
  virtual void enqueue(const Run& run, const Segment& segment) = 0;
  /// What `bytes` of the buffer are after all work before.
  virtual void read(const Run& run, uint32_t buffer, void* to, size_t bytes) = 0;
  virtual void fill(const Run& run, void* to, uint32_t word) = 0;
  virtual void copy(const Run& run, void* to, const void* from, size_t bytes) = 0;
  /// For all work so far; fails if a step of it did.
  virtual void wait(const Run& run) = 0;
};

/// A program's part on a device: its code and weights there.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  virtual Device& device() = 0;
  uint32_t target() const { return target_; }  ///< whose code it runs
  /// Loads the code of all plans' steps, and the weights that they use.
  virtual void load(const ArtifactView& artifact, std::span<Entry> entries) = 0;
  virtual std::unique_ptr<Lane> new_lane() = 0;
  /// The weights section and the packed region there.
  virtual BaseAddresses bases() = 0;

 protected:
  explicit DeviceProgram(uint32_t target) : target_(target) {}

 private:
  const uint32_t target_;
};

/// What was found for options.device.
struct DeviceChoice {
  std::unique_ptr<DeviceProgram> program;  // null: there is none
  std::string reason;                      // why not
};

/// The GPU that options.device names ("" and "cuda": the first) with the best code for it in the artifact, of the
/// target options.target if that is given.
DeviceChoice choose_cuda(const fb::Manifest& manifest, const LoadOptions& options);

}  // namespace gart
