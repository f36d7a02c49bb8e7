// Runs training steps: one after the other, or as replicas.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/gcc-graph/train/batches.h"
#include "tools/gcc-graph/train/loss_entry.h"
#include "tools/gcc-graph/train/training_job.h"

namespace gcg::tools {

class TrainingSteps {
 public:
  TrainingSteps() = default;
  virtual ~TrainingSteps() = default;
  TrainingSteps(const TrainingSteps&) = delete;
  TrainingSteps& operator=(const TrainingSteps&) = delete;

  /// The number of batches that the next run takes. Only the last run of a training takes fewer.
  virtual size_t wanted() const = 0;
  /// Runs a step per batch; returns their losses. Throws Error if a step fails.
  virtual std::vector<double> run(std::span<const Batch> group) = 0;
  /// A sentence about all steps so far, for the user; usually empty.
  virtual std::string summary() const { return {}; }
};

/// Runs the entry point `entry` for each batch. The arguments must outlive the result.
std::unique_ptr<TrainingSteps> single_steps(const gart::Program& program, const std::string& entry,
                                            const TrainingData& data, const StepNumbers& numbers);

/// Synchronous replicas of a file that was compiled with replicas=on. A group of `replicas` batches runs through the
/// entry point `gradients` at the same time. Then `add` and `update` add the batches' gradients in the order of the
/// batches, and the optimizer runs with their mean. So the result has the same bits as a step that
/// accumulates the gradients of as many batches, whatever the number of threads. A group may reach into the next epoch.
/// A group of which one replica fails changes no state. In a job the ranks share the replicas, and rank 0 updates the
/// states: run() throws LostRank if a rank is lost.
std::unique_ptr<TrainingSteps> replica_steps(const gart::Program& program, int64_t replicas, const TrainingData& data,
                                             const StepNumbers& numbers, const TrainingJob& job = {});

/// Asynchronous replicas: each one takes the next batch, computes its gradients, and runs the optimizer with them,
/// while the others go on. At most `staleness` updates come between the states that a replica reads and its own update;
/// a replica delays its update if another replica could otherwise exceed this limit. Results differ from run to run.
std::unique_ptr<TrainingSteps> asynchronous_steps(const gart::Program& program, int64_t replicas, int64_t staleness,
                                                  const TrainingData& data, const StepNumbers& numbers);

}  // namespace gcg::tools
