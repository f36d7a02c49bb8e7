// The other processes of a job, as a fleet needs them (gart/hosts.hpp). runtime/fleet_hosts implements this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gart/fleet.hpp"
#include "runtime/fleet/assembly.h"
#include "runtime/fleet/engine.h"

namespace gart::fleet {

/// A model whose devices belong to the ranks of a job.
class RemoteParts {
 public:
  virtual ~RemoteParts() = default;
  virtual bool is_here(uint32_t device) const = 0;
  /// Opens a device of another rank. Sends the file first if that rank lacks it. Throws Failure.
  virtual std::unique_ptr<PartEngine> open(uint32_t device, std::span<const uint32_t> parts) = 0;
};

namespace detail {

/// A process's place in a job.
class HostRanks {
 public:
  virtual ~HostRanks() = default;
  /// Gives the model's devices to the ranks. `file`: the artifact, which must outlive the result. `path`: where other
  /// ranks look for it; if empty, this rank sends it. Throws Failure, for example if the job has too few ranks.
  virtual std::unique_ptr<RemoteParts> share(const Assembly& assembly, std::span<const uint8_t> file,
                                             const std::string& path, const LoadOptions& options) = 0;
};

}  // namespace detail
}  // namespace gart::fleet
