// The parts of a training step that replicas need: they compute gradients at the same time, which are then added in a
// fixed order.
#pragma once

#include <optional>
#include <vector>

#include "compiler/train/optimizer.h"
#include "compiler/train/random_state.h"
#include "compiler/train/train_options.h"

namespace gcg {

inline constexpr const char *kGradientsEntry = "gradients", *kAddEntry = "add", *kUpdateEntry = "update",
                            *kAccumulateEntry = "accumulate";

/// Turns a step that has its loss and its gradients, but no optimizer, into the entry `gradients`. Its outputs are the
/// loss, gradient.NAME for each parameter, and statistic.NAME, the new value of each of the running `statistics`. If
/// the step draws random numbers, the result is a new input `replica`: the number of updates that come between the
/// state that the replica reads and its own update. Otherwise the result is invalid.
ValueId make_gradients(Graph& step, const std::vector<TrainedParameter>& trained,
                       const std::vector<OptimizerState>& statistics, const std::optional<RandomState>& random);

/// An entry that reads gradients. Its graph has neither inputs nor states yet.
struct GroupEntry {
  Graph graph;
  std::vector<ValueId> inputs;            // without states
  std::vector<TrainedParameter> trained;  // in the order of the step's parameters; updated: only in `update`
  std::vector<OptimizerState> states;     // except parameters
};

/// Makes the entries for the gradients of a group of replicas. `step`: the graph that has the parameters. It gives
/// their names and types.
class GroupEntries {
 public:
  GroupEntries(const Graph& step, const std::vector<TrainedParameter>& trained,
               const std::vector<OptimizerState>& statistics, const TrainOptions& options, bool has_random_state)
      : step_(step),
        trained_(trained),
        statistics_(statistics),
        options_(options),
        has_random_state_(has_random_state) {}

  /// The entry `add`: the outputs sum.NAME are first.NAME * share.first + second.NAME * share.second. It has no states.
  GroupEntry make_add() const;
  /// The entry `update`: the optimizer runs with this sum. If share.second is 0, second.NAME does not count. Only the
  /// last entry of a group changes parameters, so no other run writes them. Running statistics become statistic.NAME.
  GroupEntry make_update() const;
  /// The entry `accumulate`: adds gradient.NAME * share to the state NAME.gradient, for a group that a later training
  /// completes.
  GroupEntry make_accumulate() const;

 private:
  void add_parameter(GroupEntry& entry, const TrainedParameter& p) const;
  /// Adds both operands as inputs; their sums are the gradients of `entry.trained`.
  void add_operands(GroupEntry& entry) const;
  /// Running statistics get the values of inputs.
  void replace_statistics(GroupEntry& entry) const;
  /// The random state of a step that is `steps` steps later.
  void advance_random_state(GroupEntry& entry, std::optional<ValueId> steps) const;

  const Graph& step_;
  const std::vector<TrainedParameter>& trained_;
  const std::vector<OptimizerState>& statistics_;
  const TrainOptions& options_;
  const bool has_random_state_;
};

}  // namespace gcg
