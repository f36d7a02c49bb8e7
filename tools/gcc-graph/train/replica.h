// One replica of a training step: the memory of its phases.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/gcc-graph/train/loss_entry.h"

namespace gcg::tools {

// Names of the compiler: compiler/train/replica_entries.h and phases.h.
inline constexpr const char *kGradientsEntry = "gradients", *kReplicaInput = "replica";

/// The entry points `gradients`, `gradients.1`, .. in the order in which they run.
std::vector<std::string> phases_of(const gart::Program& program);

class Replica {
 public:
  /// Sets those of `numbers` that are inputs. The arguments must outlive the object.
  Replica(const gart::Program& program, const std::vector<std::string>& phases, const TrainingData& data,
          const StepNumbers& numbers);

  /// Collects the batch, and runs the first phase. `draw`: see Replicas::begin().
  gart::Result<void> begin(const Batch& batch, int64_t draw);
  /// Runs a later phase, which reads results of earlier ones.
  gart::Result<void> run(size_t phase);
  gart::Result<void> set_input(size_t phase, const std::string& name, const gart::TensorView& value) {
    return phases_[phase].invocation.set_input(name, value);
  }
  /// A result of the phases that have run.
  gart::TensorView output(const std::string& name) const;
  double loss() const { return number_in(output(loss_)); }

 private:
  struct Place {
    size_t phase, output;
  };
  struct Phase {
    gart::Invocation invocation;
    std::vector<std::string> own;                     // inputs that the data or the driver give
    std::vector<std::pair<std::string, Place>> from;  // inputs that earlier phases give
  };

  const TrainingData& data_;
  std::vector<Phase> phases_;
  std::map<std::string, Place> outputs_;
  std::string loss_;
  BatchMemory memory_;
  int64_t draw_ = 0;
};

}  // namespace gcg::tools
