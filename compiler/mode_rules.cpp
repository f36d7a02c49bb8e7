#include "compiler/mode_rules.h"

#include <algorithm>

#include "compiler/ir/states.h"
#include "compiler/train/replica_entries.h"
#include "compiler/train/training_mode.h"

namespace gcg {
namespace {

bool updates_program(const Graph& graph) {
  return std::any_of(graph.states.begin(), graph.states.end(),
                     [](const State& s) { return s.scope == StateScope::program && is_written(s); });
}

ModeRule rule_of(bool is_step, bool has_statistics, Updates updates) {
  if (!is_step) return ModeRule::costs;
  if (updates == Updates::asynchronous) return ModeRule::asynchronous;
  if (has_statistics) return ModeRule::batch_statistics;
  return updates == Updates::synchronous ? ModeRule::synchronous : ModeRule::costs;
}

}  // namespace

std::vector<ModeRule> mode_rules(const Graph& model, const std::vector<Graph>& more, const TrainOptions* task,
                                 const TrainedParameters* trained) {
  std::vector<const Graph*> entries = {&model};
  for (const Graph& graph : more) entries.push_back(&graph);
  std::vector<ModeRule> rules;
  for (const Graph* entry : entries) {
    const bool is_replica = entry->name.starts_with(kGradientsEntry);
    if (task != nullptr && trained != nullptr && task->exchanges_statistics && is_replica)
      rules.push_back(ModeRule::exchanged_statistics);
    else if (task != nullptr && trained != nullptr)
      rules.push_back(rule_of(entry->name == kTrainEntry || entry->name == kGradientsEntry,
                              !trained->batch_statistics.empty(), task->updates));
    else
      rules.push_back(rule_of(updates_program(*entry), batch_statistics_of(*entry) != nullptr, Updates::unsaid));
  }
  return rules;
}

}  // namespace gcg
