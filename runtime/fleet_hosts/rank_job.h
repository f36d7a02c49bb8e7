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

/// How long another rank has been silent. Time in which this process did not run does not count, so a busy machine, or
/// a job that was stopped and continued as a whole, loses no rank.
class Silence {
 public:
  /// The rank may stay silent for `more_ns` longer at first.
  explicit Silence(int64_t more_ns = 0) : silent_ns_(-more_ns) {}
  void end() { silent_ns_ = 0; }
  /// Must be called about every 20 ms, or more often.
  int64_t ns();

 private:
  int64_t silent_ns_;
  int64_t counted_ = 0;  // the time of the last call; 0: none
};

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

  /// For messages of the program. Waits until the message is complete, or rank 0 has ended the job.
  void wait(Transfer message);
  /// The number of another rank. Throws Failure if it is not one.
  int checked(int rank) const;
  void end() { is_over_.store(true, std::memory_order_release); }

  RankLink link;
  const HostOptions host_options;
  std::atomic<int> silence_ms;  // the limit in use on rank 0
  // On rank 0:
  std::vector<std::string> machines;                 // per rank
  std::vector<std::unique_ptr<RemoteSpace>> spaces;  // per rank; null for rank 0
  std::atomic<uint32_t> models{0}, stations{0};      // how many numbers of models and of stations are in use

 private:
  void greet();
  void watch();
  std::atomic<bool> stop_{false}, is_over_{false};
  std::thread watcher_;
};

}  // namespace gart::fleet
