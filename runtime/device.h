// What the runtime asks of a device other than the CPU. Everything here throws Failure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "artifact_schema/reader.h"
#include "gart/gart.hpp"
#include "runtime/bound_plan.h"
#include "runtime/cpu/thread_team.h"
#include "runtime/entry.h"
#include "runtime/io.h"
#include "runtime/memory.h"

namespace gart {

/// One invocation's part on a device. Runs follow each other.
class DeviceSession {
 public:
  virtual ~DeviceSession() = default;
  virtual const Site& site() const = 0;
  /// A run is about to change memory that the previous one may still use: waits for it.
  virtual void settle() = 0;
  /// The invocation ends: waits for what may be under way, however it ends.
  virtual void drain() noexcept = 0;
  /// Makes and uploads what runs of `plan` with inputs and outputs in host memory need, as far as it is known before one.
  virtual Result<void> prepare(BoundPlan& plan, Inputs& inputs, Outputs& outputs, Block& arena) = 0;
  /// Enqueues a run of `plan` on `stream` (a CUstream; the session's own if `own_stream`). Returns before the work is
  /// done, unless the plan's control flow needs values that the device computes.
  virtual Result<void> start(BoundPlan& plan, Inputs& inputs, Outputs& outputs, Block& arena, void* stream,
                             bool own_stream) = 0;
  /// Waits for the run that was started last; its outputs are then where outputs.deliver() expects them. Fails as the run
  /// did. Nothing to do if there is none, or it was waited for.
  virtual Result<void> finish() = 0;
};

/// What steps of the host need beside their code: threads (null: the caller's alone) and the addresses of imports.
struct HostCpu {
  ThreadTeam* team = nullptr;
  const void* const* imports = nullptr;
};

/// A program's part on a device: its code and weights there.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  virtual const std::string& name() const = 0;  ///< "cuda:0"
  virtual uint32_t target() const = 0;          ///< whose code it runs
  /// Loads the code of all plans, and the weights that they use. `host` outlives the program.
  virtual void load(const ArtifactView& artifact, std::vector<Entry>& entries, const HostCpu& host) = 0;
  virtual std::unique_ptr<DeviceSession> new_session() = 0;
  /// The error that lost the device, if one did.
  virtual Result<void> check_alive() const = 0;
};

/// What choose_cuda found.
struct DeviceChoice {
  std::unique_ptr<DeviceProgram> program;  // null: there is none
  std::string reason;                      // why not
};

/// The GPU that options.device names ("" and "cuda": the first) with the best code for it in the artifact, of the target
/// options.target if that is given.
DeviceChoice choose_cuda(const fb::Manifest& manifest, const LoadOptions& options);

}  // namespace gart
