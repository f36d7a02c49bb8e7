// One model over several hosts: the processes of one job, such as those that mpirun starts, run its parts together.
//
//   auto hosts = gart::fleet::Hosts::join();
//   if (hosts->rank() != 0) return hosts->serve();      // runs the parts that rank 0 sends, until rank 0 is done
//   auto model = gart::fleet::load("model.gart", {.hosts = &*hosts});
//   auto request = model->new_request();                // as on one host
//
// Rank 0 takes inputs, gives outputs and starts every part. Another rank maps the file, or gets it from rank 0 if its
// own copy differs, and loads only the parts that are placed on its devices. A value that crosses between two ranks
// goes directly from one to the other. Results are those of one process, bit for bit.
//
// A device of the file belongs to a rank by its host's name. Devices without a host belong to rank 0. The name of a
// rank's machine names that rank. All other hosts get the remaining ranks, in the order of the file's devices.
//
// Rank 0 fails with ErrorCode::device_lost if another rank does not answer for `silence_ms`. Devices of a lost rank are
// lost devices (fleet.hpp). If rank 0 is silent, serve() fails.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gart/result.h"
#include "gart/tensor.h"
#include "gart/transport.h"

namespace gart::fleet {

namespace detail {
class HostRanks;
}

struct HostOptions {
  int silence_ms = 1000;  ///< a rank that does not answer for so long is lost; at least 100
};

/// A process's place in its job. Copies share it. The last one on rank 0 ends serve() on the other ranks.
class GART_API Hosts {
 public:
  /// Joins the job that started this process, by libgart_mpi.so. Fails without the library, or without a job.
  static Result<Hosts> join(const HostOptions& options = {});
  /// Uses a transport that the caller has opened. It must stay valid until the last copy is gone.
  static Result<Hosts> over(const gart_transport& transport, const HostOptions& options = {});

  int rank() const;
  int size() const;
  std::string machine() const;  ///< the name of this rank's machine
  /// On all ranks but 0: runs parts until rank 0 leaves the job.
  Result<void> serve() const;

  // Messages of the program itself. Messages from one rank to another arrive in order. A rank that serves uses them in
  // another thread. They fail with ErrorCode::device_lost if the other rank is lost, and if rank 0 has left the job.
  /// Waits until `bytes` may change.
  Result<void> send(int to, std::span<const uint8_t> bytes) const;
  /// Waits for a message, which has at most as many bytes as `room`.
  Result<void> receive(int from, std::span<uint8_t> room) const;

  /// On rank 0: changes HostOptions::silence_ms. May be called from a signal handler, for a launcher that is about to
  /// end all processes because one has died.
  void limit_silence(int milliseconds) const noexcept;

  const std::shared_ptr<detail::HostRanks>& ranks() const { return ranks_; }

 private:
  explicit Hosts(std::shared_ptr<detail::HostRanks> ranks);
  std::shared_ptr<detail::HostRanks> ranks_;
};

}  // namespace gart::fleet
