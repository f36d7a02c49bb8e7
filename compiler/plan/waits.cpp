#include "compiler/plan/waits.h"

#include <map>
#include <set>

namespace gcg {
namespace {

/// Adds the buffers that a step, or a step of its subgraphs, reads and writes.
void touched_buffers(const Plan& plan, const Step& step, std::set<BufferId>& reads, std::set<BufferId>& writes) {
  for (BufferId b : step.reads()) reads.insert(b);
  for (BufferId b : step.writes()) writes.insert(b);
  for (SequenceId body : step.bodies())
    for (const Step& inner : plan.sequences[body].steps) touched_buffers(plan, inner, reads, writes);
}

}  // namespace

void link_waits(const Plan& plan, Sequence& sequence) {
  std::map<BufferId, StepId> writer;
  std::map<BufferId, std::vector<StepId>> readers;
  std::set<StepId> guards;
  for (StepId self : sequence.steps.ids()) {
    Step& step = sequence.steps[self];
    std::set<BufferId> reads, writes;
    touched_buffers(plan, step, reads, writes);
    std::set<StepId> waits;
    for (BufferId b : reads)
      if (auto it = writer.find(b); it != writer.end()) waits.insert(it->second);
    for (BufferId b : writes) {
      if (auto it = writer.find(b); it != writer.end()) waits.insert(it->second);
      for (StepId r : readers[b]) waits.insert(r);
    }
    waits.erase(self);
    waits.insert(guards.begin(), guards.end());
    if (step.as<Fail>() || step.as<Bind>()) guards.insert(self);
    step.waits.assign(waits.begin(), waits.end());
    for (BufferId b : writes) {
      writer[b] = self;
      readers[b].clear();
    }
    for (BufferId b : reads) readers[b].push_back(self);
  }
}

}  // namespace gcg
