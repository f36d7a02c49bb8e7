// A model that the ranks of a job run together, as rank 0 sees it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "gart/fleet.hpp"
#include "runtime/fleet/assembly.h"
#include "runtime/fleet/engine.h"
#include "runtime/fleet_hosts/job.h"

namespace gart::fleet {

class RemoteModel {
 public:
  /// `file`: the artifact, which must outlive this. `path`: where ranks look for it; empty: rank 0 sends it. Throws
  /// Failure if the job has too few ranks for the hosts of the file's devices.
  RemoteModel(std::shared_ptr<detail::Job> job, const Assembly& assembly, std::span<const uint8_t> file,
              std::string path, const LoadOptions& options);
  ~RemoteModel();
  RemoteModel(const RemoteModel&) = delete;
  RemoteModel& operator=(const RemoteModel&) = delete;

  bool is_here(uint32_t device) const { return ranks_[device] == 0; }
  /// Opens a device of another rank. Sends the file first if that rank lacks it.
  std::unique_ptr<PartEngine> open(uint32_t device, std::span<const uint32_t> parts);

 private:
  void introduce(int rank);

  const std::shared_ptr<detail::Job> job_;
  const std::span<const uint8_t> file_;
  const std::string path_;
  const uint32_t number_;
  std::vector<int> ranks_;          // per device
  std::vector<std::string> names_;  // of devices
  Writer options_;
  std::mutex mutex_;
  std::vector<uint8_t> introduced_;  // per rank
};

/// The rank of each device; see hosts.hpp. `machines`: per rank. Throws Failure if there are too few ranks.
std::vector<int> ranks_of(const std::vector<Device>& devices, const std::vector<std::string>& machines);

}  // namespace gart::fleet
