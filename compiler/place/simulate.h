// The exact simulator. Placers optimise its time, and predictions come from it.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "compiler/place/problem.h"

namespace gcg::place {

struct Transfer {
  int value = 0, from = 0, to = 0;
  double begin = 0, end = 0;
};

struct Timeline {
  // Time until every group has run and every wanted value is where the caller wants it.
  double us = 0;
  std::vector<double> begin, end;                 // per group
  std::vector<Transfer> transfers;                // in the order in which links received them
  std::vector<double> busy_us;                    // per device; the longest one limits the throughput
  std::vector<int64_t> weight_bytes, peak_bytes;  // per device; peaks include weights
};

/// The rules:
/// * A device runs one group at a time, in the placement's order. A group begins as soon as the group before it has
///   ended and all its inputs are on the device.
/// * A group takes longer if its device has slept, or if its inputs are in another device's caches.
/// * A value is sent as soon as its producer has ended, and an input of the model at time 0. It is sent once to each
///   other device that reads or wants it. A link does one transfer at a time, in the order in which transfers become
///   ready. Values of one producer are sent in the order of their first readers on the other device, then by number.
/// * The weights of a device's groups are always in its memory, each once. A value takes memory on its producer's
///   device from the start of that group, and on other devices from the start of its transfer. An input of the model
///   takes memory on its own device from time 0. A device releases a value when all readers there and all transfers
///   from there have ended. Where the caller wants the value, it is released at the end of the run. Memory that is
///   released at some time is free for an allocation at the same time.
Timeline simulate(const Problem& problem, const Placement& placement);

/// Simulates many placements of one problem, without a timeline.
class Simulator {
 public:
  explicit Simulator(const Problem& problem);

  struct Cost {
    int64_t missing_bytes = 0;  // sum over devices of the bytes by which the peak exceeds the memory
    double us = 0;

    bool operator<(const Cost& other) const {
      return missing_bytes != other.missing_bytes ? missing_bytes < other.missing_bytes : us < other.us;
    }
  };
  /// Stops early if the run surely takes longer than `most` microseconds; `us` is then infinite.
  Cost cost(const Placement& placement, double most = std::numeric_limits<double>::infinity());
  /// The share of the groups that the last evaluation had to simulate.
  double share() const { return share_; }
  Timeline timeline(const Placement& placement);
  /// The critical path of the placement whose cost was computed last. The end of the run waits for the first group of
  /// `path`, and each group waits for the next one.
  void critical_path(const Placement& placement, std::vector<int>& path);
  int64_t evaluations() const { return evaluations_; }

 private:
  // A copy of a value, on the device of its producer or on a device that received it.
  struct Copy {
    int value, device;
    double arrival, begin, end;  // end: the end of its last use
    int next;                    // next copy of the same value; -1: none
  };
  struct Request {
    int first_position, value, from, to;
  };
  struct Change {
    double time;
    int64_t bytes;
  };

  void reset(const Placement& placement);
  bool run(const Placement& placement, double most);
  void give_inputs(const Placement& placement);
  void request(int value, int from, const Placement& placement);
  void send(double ready);
  void add_weights(const Placement& placement);
  bool fits_at_once(const Placement& placement);
  void measure_memory(const Placement& placement);
  int owner(int value, const Placement& placement) const;
  bool has_copy(int value, int device) const;
  Copy& copy_of(int value, int device);
  Copy& add_copy(int value, int device, double begin, double arrival);

  const Problem& problem_;
  bool limited_;  // True if some device has a memory limit
  int64_t evaluations_ = 0;
  std::vector<Copy> copies_;
  std::vector<int> first_copy_;  // per value
  std::vector<double> device_free_, link_free_, begin_, end_;
  std::vector<double> left_;  // per group: least time from its end to the end of the run
  std::vector<int> position_, used_links_;
  std::vector<int> last_;                         // per device: the group that ran there last; -1: none
  std::vector<int> before_;                       // per group: the group that its device ran before it
  std::vector<int64_t> own_weight_bytes_;         // per group: bytes of weights that no other group has
  std::vector<std::vector<int>> shared_weights_;  // per group
  std::vector<std::pair<int, int>> shared_;       // device, weight
  std::vector<Request> requests_;
  std::vector<Transfer> transfers_;
  std::vector<std::vector<Change>> changes_;  // per device
  std::vector<int64_t> weight_bytes_, peak_bytes_;
  bool keep_transfers_ = false;
  double us_ = 0, share_ = 0;
};

}  // namespace gcg::place
