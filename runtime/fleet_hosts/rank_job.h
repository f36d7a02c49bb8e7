// A process's part in a job. On rank 0: which ranks still answer, and the memory of each.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gart/hosts.hpp"
#include "runtime/fleet/ranks.h"
#include "runtime/fleet_hosts/rank_link.h"
#include "runtime/fleet_hosts/remote_space.h"

namespace gart::fleet {

/// Longest time that ranks wait for each other at the start. A launcher may start them one after the other.
inline constexpr int64_t kStartNs = 60'000'000'000;

class RankJob final : public detail::HostRanks, public std::enable_shared_from_this<RankJob> {
 public:
  /// Throws Failure.
  RankJob(const gart_transport& transport, const HostOptions& options);
  /// On rank 0: ends the other ranks.
  ~RankJob() override;
  RankJob(const RankJob&) = delete;
  RankJob& operator=(const RankJob&) = delete;
  std::unique_ptr<RemoteParts> share(const Assembly& assembly, std::span<const uint8_t> file, const std::string& path,
                                     const LoadOptions& options) override;

  RankLink link;
  const HostOptions host_options;
  // On rank 0:
  std::vector<std::string> machines;                 // per rank
  std::vector<std::unique_ptr<RemoteSpace>> spaces;  // per rank; null for rank 0
  std::atomic<uint32_t> models{0}, stations{0};      // how many numbers of models and of stations are in use

 private:
  void greet();
  void watch();
  std::atomic<bool> stop_{false};
  std::thread watcher_;
};

}  // namespace gart::fleet
