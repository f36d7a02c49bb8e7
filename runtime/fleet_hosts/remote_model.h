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
#include "runtime/fleet_hosts/rank_job.h"

namespace gart::fleet {

class RemoteModel final : public RemoteParts {
 public:
  /// See detail::HostRanks::share().
  RemoteModel(std::shared_ptr<RankJob> job, const Assembly& assembly, std::span<const uint8_t> file,
              const std::string& path, const LoadOptions& options);
  ~RemoteModel() override;
  RemoteModel(const RemoteModel&) = delete;
  RemoteModel& operator=(const RemoteModel&) = delete;

  bool is_here(uint32_t device) const override { return ranks_[device] == 0; }
  std::unique_ptr<PartEngine> open(uint32_t device, std::span<const uint32_t> parts) override;

 private:
  void introduce(int rank);

  const std::shared_ptr<RankJob> job_;
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
