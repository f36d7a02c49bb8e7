// A process's part in a job. On rank 0: which ranks still answer, and the memory of each.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gart/hosts.hpp"
#include "runtime/fleet_hosts/link.h"
#include "runtime/fleet_hosts/remote_space.h"

namespace gart::fleet::detail {

/// Ranks wait so long for each other at the start, because a launcher may start them one after the other.
inline constexpr int64_t kStartNs = 60'000'000'000;

struct Job {
  /// Throws Failure.
  Job(const gart_transport& transport, const HostOptions& options);
  /// On rank 0: ends the other ranks.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Link link;
  const HostOptions options;
  // On rank 0:
  std::vector<std::string> machines;                 // per rank
  std::vector<std::unique_ptr<RemoteSpace>> spaces;  // per rank; null for rank 0
  std::atomic<uint32_t> models{0}, stations{0};      // numbers given so far

 private:
  void greet();
  void watch();
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread watcher_;
};

}  // namespace gart::fleet::detail
