// Runs training steps: one after the other, or as replicas.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/gcc-graph/io/npz.h"
#include "tools/gcc-graph/train/batches.h"

namespace gcg::tools {

class TrainingSteps {
 public:
  TrainingSteps() = default;
  virtual ~TrainingSteps() = default;
  TrainingSteps(const TrainingSteps&) = delete;
  TrainingSteps& operator=(const TrainingSteps&) = delete;

  /// The number of batches that the next run takes. Only the last run of a training takes fewer.
  virtual size_t wanted() const = 0;
  /// Runs a step per batch; returns their losses. Throws Error if a step fails. A group whose replicas fail changes no
  /// states.
  virtual std::vector<double> run(std::span<const Batch> group) = 0;
};

/// Inputs that are the same in each step, by name.
using StepNumbers = std::map<std::string, HostTensor>;

/// Runs the entry point `entry` for each batch. `program`, `data` and `numbers` must outlive the result.
std::unique_ptr<TrainingSteps> single_steps(const gart::Program& program, const std::string& entry,
                                            const TrainingData& data, const StepNumbers& numbers);

/// Synchronous replicas, as files compiled with replicas=on have them. A group of `replicas` batches runs through the
/// entry point `gradients` at the same time. Then `update` adds each batch's gradients to their sum, in the order of
/// the batches; after the last one, the optimizer runs with their mean. So the result has the same bits as a step that
/// accumulates the gradients of as many batches, whatever the number of threads. A group may reach into the next epoch.
std::unique_ptr<TrainingSteps> replica_steps(const gart::Program& program, int64_t replicas, const TrainingData& data,
                                             const StepNumbers& numbers);

}  // namespace gcg::tools
