// A job whose ranks are threads of this process. It keeps MPI's rules: messages of one sender, receiver and tag match
// in order, and a long send ends only after its receive began.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gart/hosts.hpp"

namespace gart::fleet::test {

class StandIn {
 public:
  /// Sends of at most `eager` bytes end at once.
  StandIn(int ranks, size_t eager);
  ~StandIn();

  const gart_transport& transport(int rank) const { return ranks_[static_cast<size_t>(rank)]->table; }
  /// From its message number `count` on, nothing that the rank sends or receives is delivered.
  void silence(int rank, int64_t count = 0);
  /// The rank's calls wait from now on, as if its process was stopped; or they go on.
  void stop(int rank, bool is_stopped = true);
  /// The number of messages that the rank has sent.
  int64_t sent(int rank) const;
  /// The number of bytes that went from one rank to another.
  int64_t bytes(int from, int to) const;

 private:
  friend struct StandInCalls;
  struct Rank {
    gart_transport table = {};
    StandIn* job = nullptr;
    std::string host;
    int64_t sent = 0, silent_from = INT64_MAX;
    bool is_stopped = false;
    std::vector<int64_t> bytes;
    bool is_silent() const { return sent >= silent_from; }
  };
  const size_t eager_;
  mutable std::mutex mutex_;
  std::condition_variable continued_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::list<gart_message*> sends_, receives_;  // not matched yet
};

/// Serves on ranks 1 and up of a stand-in job, each in a thread, and holds rank 0.
class StandInJob {
 public:
  explicit StandInJob(int ranks, size_t eager = 1024, int silence_ms = 5000);
  ~StandInJob();  ///< ends all ranks
  StandIn& network() { return network_; }
  const Hosts& hosts() const { return *hosts_; }
  /// Ends rank 0's part and waits for the other ranks. Returns how each ended, from rank 1 on.
  std::vector<Result<void>> end();

 private:
  StandIn network_;
  std::vector<std::thread> threads_;
  std::vector<Result<void>> ends_;
  std::unique_ptr<Hosts> hosts_;
};

}  // namespace gart::fleet::test
