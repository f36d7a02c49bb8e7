#include "compiler/plan/verify_memory.h"

#include <algorithm>

#include "compiler/plan/streams.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// The blocks that may share bytes, in the plan's layout or in a layout that the runtime may make.
class SharedBytes {
 public:
  explicit SharedBytes(const Plan& plan) : buffers_(plan.memory.blocks.size()), blocks_(plan.memory.blocks.size()) {
    for (BufferId b : plan.buffers.ids())
      if (const int block = plan.buffers[b].block; block >= 0) buffers_[static_cast<size_t>(block)].push_back(b);
    const MemoryPlan& memory = plan.memory;
    std::vector<bool> placed(blocks_.size(), memory.is_static);
    for (int block : memory.placement) placed[static_cast<size_t>(block)] = true;
    for (size_t i = 0; i < blocks_.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        if (!placed[i] || !placed[j]) continue;
        if (memory.is_static ? !overlap(memory, i, j) : conflict(memory, i, j)) continue;
        blocks_[i].push_back(j);
        blocks_[j].push_back(i);
      }
  }

  /// Calls see(b) for each other temporary that may share bytes with the buffer.
  template <class See>
  void each(const Buffer& of, BufferId id, const See& see) const {
    const auto block = static_cast<size_t>(of.block);
    for (BufferId b : buffers_[block])
      if (b != id) see(b);
    for (size_t other : blocks_[block])
      for (BufferId b : buffers_[other]) see(b);
  }

 private:
  static bool overlap(const MemoryPlan& m, size_t i, size_t j) {
    const int64_t a = m.layout.offsets[i], b = m.layout.offsets[j];
    return a < b + m.blocks[j].size && b < a + m.blocks[i].size;
  }
  static bool conflict(const MemoryPlan& m, size_t i, size_t j) {
    const std::vector<int>& all = m.blocks[i].conflicts;
    return std::find(all.begin(), all.end(), static_cast<int>(j)) != all.end();
  }

  std::vector<std::vector<BufferId>> buffers_;  // by block
  std::vector<std::vector<size_t>> blocks_;     // by block: the blocks that may share bytes with it
};

class Contents {
 public:
  Contents(const Plan& plan, const SharedBytes& shared) : plan_(plan), shared_(shared), held_(plan.buffers.size()) {}

  void run(const Sequence& sequence) {
    for (const Step& step : sequence.steps) {
      if (const auto* loop = step.as<Loop>()) {
        run(*loop, step);
      } else if (const auto* branch = step.as<Branch>()) {
        run(*branch, step);
      } else {
        // A launch that continues another one reads the same operands, before the two have written anything.
        if (!step.continues())
          for (BufferId b : step.reads()) read(b, step);
        for (BufferId b : step.writes()) write(b);
      }
    }
  }

 private:
  bool is_followed(BufferId b) const { return plan_.buffers[b].block >= 0 && !plan_.buffers[b].bytes.is(0); }

  void read(BufferId b, const Step& step) const {
    GCG_CHECK(!is_followed(b) || held_[b], "step '", step.source, "' reads '", plan_.buffers[b].name,
              "', whose memory another value has overwritten");
  }

  void write(BufferId b) {
    if (!is_followed(b)) return;
    shared_.each(plan_.buffers[b], b, [&](BufferId other) { held_[other] = false; });
    held_[b] = true;
  }

  /// If only one branch writes a value, then in the other branch either the value is empty or the run ends.
  void run(const Branch& branch, const Step& step) {
    read(branch.condition, step);
    const IndexedVector<BufferId, bool> before = held_;
    IndexedVector<BufferId, bool> after[2], is_written[2];
    for (size_t i : {0, 1}) {
      held_ = before;
      run(plan_.sequences[branch.bodies[i]]);
      after[i] = held_;
      is_written[i] = IndexedVector<BufferId, bool>(held_.size());
      note_written(plan_.sequences[branch.bodies[i]], is_written[i]);
    }
    for (BufferId b : held_.ids()) {
      const auto alone = [&](size_t i) { return after[i][b] && !is_written[1 - i][b]; };
      held_[b] =
          before[b] || (is_written[0][b] && is_written[1][b]) ? after[0][b] && after[1][b] : alone(0) || alone(1);
    }
  }

  void note_written(const Sequence& sequence, IndexedVector<BufferId, bool>& written) const {
    for (const Step& step : sequence.steps) {
      for (BufferId b : step.writes()) written[b] = true;
      for (SequenceId body : step.bodies()) note_written(plan_.sequences[body], written);
    }
  }

  void run(const Loop& loop, const Step& step) {
    if (loop.trip_count.valid()) read(loop.trip_count, step);
    for (int iteration = 0; iteration < 2; ++iteration) {
      if (loop.condition.valid()) read(loop.condition, step);
      if (loop.iteration.valid()) write(loop.iteration);
      run(plan_.sequences[loop.body]);
      for (const Loop::Carried& c : loop.carried) {
        read(c.from, step);
        write(c.to);
      }
    }
  }

  const Plan& plan_;
  const SharedBytes& shared_;
  IndexedVector<BufferId, bool> held_;
};

/// Checks the entry sequence for races; subgraphs have a single stream.
class Races {
 public:
  Races(const Plan& plan, const SharedBytes& shared)
      : plan_(plan), shared_(shared), order_(plan.entry()), users_(plan.buffers.size()), writers_(plan.buffers.size()) {
    for (StepId i : plan.entry().steps.ids()) {
      first_.push_back(plan.entry().steps[i].continues() ? first_.back() : i);
      note(plan.entry().steps[i], i);
    }
  }

  void check() const {
    for (BufferId b : plan_.buffers.ids()) {
      check(writers_[b], users_[b], b);
      if (plan_.buffers[b].block >= 0)
        shared_.each(plan_.buffers[b], b, [&](BufferId other) { check(writers_[b], users_[other], b); });
    }
  }

 private:
  void note(const Step& step, StepId i) {
    for (BufferId b : step.reads()) users_[b].push_back(i);
    for (BufferId b : step.writes()) {
      users_[b].push_back(i);
      writers_[b].push_back(i);
    }
    for (SequenceId body : step.bodies())
      for (const Step& inner : plan_.sequences[body].steps) note(inner, i);
  }

  void check(const std::vector<StepId>& writers, const std::vector<StepId>& users, BufferId b) const {
    for (StepId w : writers)
      for (StepId u : users)
        GCG_CHECK(first_[w] == first_[u] || order_.before(w, u) || order_.before(u, w), "steps ", w.index, " and ",
                  u.index, " may run at the same time, and one of them writes '", plan_.buffers[b].name,
                  "' where the other reads or writes");
  }

  const Plan& plan_;
  const SharedBytes& shared_;
  const StepOrder order_;
  IndexedVector<BufferId, std::vector<StepId>> users_, writers_;
  IndexedVector<StepId, StepId> first_;  // the first launch of those that do one piece of work
};

}  // namespace

void verify_memory(const Plan& plan) {
  const SharedBytes shared(plan);
  Contents(plan, shared).run(plan.entry());
  if (plan.streams > 1) Races(plan, shared).check();
}

}  // namespace gcg
