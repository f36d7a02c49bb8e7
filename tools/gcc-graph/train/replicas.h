// The entry points of a file that was compiled with replicas=on, with the memory of each replica.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/gcc-graph/train/loss_entry.h"

namespace gcg::tools {

class Replicas {
 public:
  /// The arguments must outlive the object. Throws Error if the file has no such entry points.
  Replicas(const gart::Program& program, int64_t count, const TrainingData& data, const StepNumbers& numbers);

  size_t count() const { return entries_.size(); }
  /// Computes the gradients of a batch. Replicas may do this at the same time. `draw`: the number of steps between the
  /// states and the step whose random numbers this one draws.
  gart::Result<void> compute(size_t replica, const Batch& batch, int64_t draw);
  /// Adds the replica's gradients, multiplied by `share`, to their sum; if `is_last`, runs the optimizer. One call at a
  /// time.
  gart::Result<void> update(size_t replica, double share, bool is_last);
  double loss(size_t replica) const { return entries_[replica]->loss(); }
  /// The number of gradients that the sums in the states contain.
  int64_t pending() const;

 private:
  struct Gradient {
    std::string name;
    size_t output;
  };

  const gart::Program& program_;
  std::vector<std::unique_ptr<LossEntry>> entries_;
  std::vector<Gradient> gradients_;
  std::unique_ptr<gart::Invocation> update_;
  bool draws_ = false;
};

}  // namespace gcg::tools
