#include "compiler/schedule/waits.h"

#include <algorithm>
#include <map>
#include <set>

namespace gcg {

void touched_buffers(const Schedule& schedule, const Step& s, std::set<BufferId>& reads, std::set<BufferId>& writes) {
  for (size_t i = 0; i < s.operands.size(); ++i) {
    const bool written = std::find(s.writes.begin(), s.writes.end(), static_cast<int>(i)) != s.writes.end();
    (written ? writes : reads).insert(s.operands[i]);
  }
  for (BufferId b : {s.trip_count, s.condition})
    if (b.valid()) reads.insert(b);
  if (s.iteration.valid()) writes.insert(s.iteration);
  for (BufferId b : s.carried_from) reads.insert(b);
  for (BufferId b : s.carried_to) writes.insert(b);
  for (int body : s.bodies)
    for (const Step& inner : schedule.sequences[static_cast<size_t>(body)].steps)
      touched_buffers(schedule, inner, reads, writes);
}

void link_waits(const Schedule& schedule, Sequence& sequence) {
  std::map<BufferId, StepId> writer;
  std::map<BufferId, std::vector<StepId>> readers;
  std::set<StepId> guards;
  for (size_t i = 0; i < sequence.steps.size(); ++i) {
    Step& s = sequence.steps[i];
    std::set<BufferId> reads, writes;
    touched_buffers(schedule, s, reads, writes);
    std::set<StepId> waits;
    for (BufferId b : reads)
      if (auto it = writer.find(b); it != writer.end()) waits.insert(it->second);
    for (BufferId b : writes) {
      if (auto it = writer.find(b); it != writer.end()) waits.insert(it->second);
      for (StepId r : readers[b]) waits.insert(r);
    }
    const StepId self(static_cast<int64_t>(i));
    waits.erase(self);
    waits.insert(guards.begin(), guards.end());
    if (s.kind == Step::Kind::fail || s.kind == Step::Kind::bind) guards.insert(self);
    s.waits.assign(waits.begin(), waits.end());
    for (BufferId b : writes) {
      writer[b] = self;
      readers[b].clear();
    }
    for (BufferId b : reads) readers[b].push_back(self);
  }
}

}  // namespace gcg
