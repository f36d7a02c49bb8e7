// The exact simulator: what every placer optimises and every prediction is.
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
  double us = 0;                    // until every group has run and every wanted value lies where it is wanted
  std::vector<double> begin, end;   // of groups
  std::vector<Transfer> transfers;  // in the order in which they were handed to their links
  std::vector<double> busy_us;      // of devices; the longest one bounds the throughput
  std::vector<int64_t> weight_bytes, peak_bytes;  // of devices; weights are part of the peak
};

/// The rules:
/// * A device runs one group at a time, in the placement's order, each as soon as the one before it has ended and all
/// of
///   its inputs lie there.
/// * A group takes longer whose device has slept, and one whose inputs lie in another device's caches.
/// * A value is sent as soon as its producer has ended (a model's input: at 0), once to each other device that reads or
///   wants it. A link serves one transfer at a time, in the order in which they are ready; of one producer's values the
///   one whose first reader on the other device comes first, then by number.
/// * Weights of a device's groups lie there always, each once. A value lies on its producer's device from the begin of
///   that group, elsewhere from the begin of its transfer (a model's input where it is given: from 0), until all
///   readers there and all transfers from there have ended, where it is wanted until the end of the run. What ends when
///   something begins does not lie beside it.
Timeline simulate(const Problem& problem, const Placement& placement);

/// The same for many placements of one problem, without a timeline.
class Simulator {
 public:
  explicit Simulator(const Problem& problem);

  struct Cost {
    int64_t missing_bytes = 0;  // that peaks take beyond the devices' memories, summed
    double us = 0;

    bool operator<(const Cost& other) const {
      return missing_bytes != other.missing_bytes ? missing_bytes < other.missing_bytes : us < other.us;
    }
  };
  /// Ends as soon as it is sure that the run would take longer than `most` microseconds: it takes forever then.
  Cost cost(const Placement& placement, double most = std::numeric_limits<double>::infinity());
  /// Of the last evaluation: the groups that it came to, of all.
  double share() const { return share_; }
  Timeline timeline(const Placement& placement);
  /// Of the placement whose cost was asked for last: groups that the end of the run waits for, each for the next one,
  /// the last first.
  void critical_path(const Placement& placement, std::vector<int>& path);
  int64_t evaluations() const { return evaluations_; }

 private:
  // Where a value lies: on the device of its producer, and on those that it was sent to.
  struct Copy {
    int value, device;
    double arrival, begin, end;  // end: of its last use
    int next;                    // of the same value; -1: none
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
  bool limited_;  // some device's memory
  int64_t evaluations_ = 0;
  std::vector<Copy> copies_;
  std::vector<int> first_copy_;  // of values
  std::vector<double> device_free_, link_free_, begin_, end_;
  std::vector<double> left_;  // of groups: from its end to that of the run, at least
  std::vector<int> position_, used_links_;
  std::vector<int> last_;                         // of devices: the group that ran there last; -1: none
  std::vector<int> before_;                       // of groups: the one that its device ran before it
  std::vector<int64_t> own_weight_bytes_;         // of groups: weights that no other has
  std::vector<std::vector<int>> shared_weights_;  // of groups
  std::vector<std::pair<int, int>> shared_;       // device, weight
  std::vector<Request> requests_;
  std::vector<Transfer> transfers_;
  std::vector<std::vector<Change>> changes_;  // of devices
  std::vector<int64_t> weight_bytes_, peak_bytes_;
  bool keep_transfers_ = false;
  double us_ = 0, share_ = 0;
};

}  // namespace gcg::place
