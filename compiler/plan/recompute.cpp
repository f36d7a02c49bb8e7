#include "compiler/plan/recompute.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/kernel/device_traits.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/recompute_schedule.h"
#include "compiler/plan/step_cost.h"
#include "compiler/plan/waits.h"

namespace gcg {
namespace {

// Attempts to fit the arena. Each one lowers the limit of the search, because arenas have gaps between blocks.
constexpr int kMostTurns = 8;
constexpr int64_t kLeastLowering = 64;  // bytes

double cost_of(const Plan& plan, const Step& step) {
  return traits_of(plan.device).has_streams ? step_cost(plan, step).microseconds : core_microseconds(plan, step);
}

/// Bytes that a buffer takes in an arena.
int64_t arena_bytes(const Buffer& buffer) { return plan_arena({{buffer.bytes.constant()}}).bytes; }

/// Buffers that a step touches, itself or in its subgraphs.
struct Touched {
  std::vector<BufferId> reads, writes;
};

void add_bodies(const Plan& plan, const Step& step, Touched& touched) {
  for (SequenceId body : step.bodies())
    for (const Step& inner : plan.sequences[body].steps) {
      for (BufferId b : inner.reads()) touched.reads.push_back(b);
      for (BufferId b : inner.writes()) touched.writes.push_back(b);
      add_bodies(plan, inner, touched);
    }
}

/// A plan's entry sequence as a RecomputeProblem.
class Model {
 public:
  Model(const Plan& plan, bool inputs_change) : plan_(plan), inputs_change_(inputs_change) {
    for (const Step& step : plan.entry().steps) note(step);
    for (const Step& step : plan.entry().steps) add(step);
  }

  RecomputeProblem problem;
  std::vector<BufferId> buffers;  // by the buffer's number in `problem`

 private:
  /// How the steps use a buffer.
  struct Facts {
    int writers = 0;
    bool is_read = false, changes = false;  // changes: a step writes the buffer after another step has read it
    bool is_copyable = true;                // only launches of the entry sequence use the buffer
  };

  void note(const Step& step) {
    Touched touched{step.reads(), step.writes()};
    const size_t own_reads = touched.reads.size(), own_writes = touched.writes.size();
    add_bodies(plan_, step, touched);
    const bool is_launch = step.as<Launch>() != nullptr;
    for (size_t i = 0; i < touched.reads.size(); ++i) {
      Facts& facts = facts_[touched.reads[i]];
      facts.is_read = true;
      facts.is_copyable = facts.is_copyable && is_launch && i < own_reads;
    }
    for (size_t i = 0; i < touched.writes.size(); ++i) {
      Facts& facts = facts_[touched.writes[i]];
      ++facts.writers;
      facts.changes = facts.changes || facts.is_read;
      facts.is_copyable = facts.is_copyable && is_launch && i < own_writes;
    }
  }

  /// True if the step can run again later, with the same results.
  bool can_repeat(const Step& step) const {
    if (step.as<Launch>() == nullptr) return false;
    const auto is_stable = [&](BufferId b) {
      const bool is_input = plan_.buffers[b].kind == Buffer::Kind::input;
      return !facts_.at(b).changes && !(is_input && inputs_change_);
    };
    const auto is_own = [&](BufferId b) {
      return plan_.buffers[b].kind == Buffer::Kind::temporary && facts_.at(b).writers == 1 && is_stable(b);
    };
    const std::vector<BufferId> reads = step.reads(), writes = step.writes();
    return std::all_of(reads.begin(), reads.end(), is_stable) && std::all_of(writes.begin(), writes.end(), is_own);
  }

  void add(const Step& step) {
    RecomputeProblem::Step out;
    out.microseconds = cost_of(plan_, step);
    out.can_repeat = can_repeat(step);
    Touched touched{step.reads(), step.writes()};
    add_bodies(plan_, step, touched);
    std::set<int> known;  // buffers of this step so far, because a step may use a buffer several times
    for (const auto* list : {&touched.reads, &touched.writes})
      for (BufferId b : *list) {
        if (plan_.buffers[b].kind != Buffer::Kind::temporary) continue;
        const auto [it, is_first] = numbers_.try_emplace(b, static_cast<int>(buffers.size()));
        if (is_first) {
          buffers.push_back(b);
          const Facts& facts = facts_.at(b);
          problem.buffers.push_back({arena_bytes(plan_.buffers[b]), facts.is_copyable && facts.writers == 1});
        }
        if (!known.insert(it->second).second) continue;
        (is_first ? out.writes : out.reads).push_back(it->second);
      }
    for (BufferId b : step.in_place())
      if (const auto it = numbers_.find(b); it != numbers_.end()) out.in_place.push_back(it->second);
    problem.steps.push_back(std::move(out));
  }

  const Plan& plan_;
  const bool inputs_change_;  // a run may overwrite inputs, because they are states with updates in place
  std::map<BufferId, Facts> facts_;
  std::map<BufferId, int> numbers_;
};

/// The plan with the runs of the schedule in place of its entry sequence.
Plan scheduled(const Plan& plan, const Model& model, const RecomputeSchedule& schedule) {
  Plan out = plan;
  std::vector<BufferId> place(schedule.buffer_of.size());  // by instance
  std::set<int> used;  // buffers, by number, that the first instance has already taken
  for (size_t i = 0; i < place.size(); ++i) {
    const int number = schedule.buffer_of[i];
    const BufferId original = model.buffers[static_cast<size_t>(number)];
    place[i] = original;
    if (used.insert(number).second) continue;
    Buffer copy = plan.buffers[original];
    place[i] = out.buffers.push_back(std::move(copy));
  }
  Sequence& entry = out.entry();
  entry.steps = {};
  for (const RecomputeSchedule::Run& run : schedule.runs) {
    Step step = plan.entry().steps[StepId(run.step)];
    const RecomputeProblem::Step& known = model.problem.steps[static_cast<size_t>(run.step)];
    if (auto* launch = step.as<Launch>()) {
      std::map<BufferId, BufferId> moved;
      for (size_t i = 0; i < run.reads.size(); ++i)
        moved[model.buffers[static_cast<size_t>(known.reads[i])]] = place[static_cast<size_t>(run.reads[i])];
      for (size_t i = 0; i < run.writes.size(); ++i)
        moved[model.buffers[static_cast<size_t>(known.writes[i])]] = place[static_cast<size_t>(run.writes[i])];
      for (BufferId& b : launch->operands)
        if (const auto it = moved.find(b); it != moved.end()) b = it->second;
    }
    step.waits.clear();
    entry.steps.push_back(std::move(step));
  }
  link_waits(out, entry);
  return out;
}

int64_t arena_of(Plan plan) {
  plan_memory(plan, std::nullopt);
  return plan.memory.is_static ? plan.memory.layout.bytes : 0;
}

/// The plan with repeated steps and its effect; nullopt if its arena cannot be made to fit.
std::optional<Recomputation> repeat_steps(Plan& plan, int64_t before, int64_t limit, bool inputs_change) {
  const Model model(plan, inputs_change);
  int64_t goal = limit;
  for (int turn = 0; turn < kMostTurns && goal > 0; ++turn) {
    const std::optional<RecomputeSchedule> schedule = schedule_within(model.problem, goal);
    if (!schedule) return std::nullopt;
    Plan changed = scheduled(plan, model, *schedule);
    const int64_t after = arena_of(changed);
    if (after > limit) {
      goal -= std::max(after - limit, kLeastLowering);
      continue;
    }
    Recomputation effect;
    effect.bytes_before = before;
    effect.bytes_after = after;
    effect.steps = static_cast<int64_t>(model.problem.steps.size());
    effect.repeated = std::ranges::count_if(schedule->runs, [](const auto& run) { return run.again; });
    for (const RecomputeProblem::Step& step : model.problem.steps) effect.microseconds += step.microseconds;
    effect.added = schedule->microseconds;
    plan = std::move(changed);
    return effect;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Recomputation> fit_memory(Plan& plan, const Graph& graph, int64_t limit, const Machine& machine) {
  const int64_t before = arena_of(plan);
  if (before <= limit) return std::nullopt;
  // Runs overwrite the memory of inputs that are states with an update in place.
  const bool inputs_change = std::ranges::any_of(graph.states, [](const State& state) { return state.in_place; });
  const Machine* const own = std::exchange(plan.machine, &machine);
  std::optional<Recomputation> effect;
  if (plan.run_bound_symbols.empty()) effect = repeat_steps(plan, before, limit, inputs_change);
  if (effect) effect->entry = graph.name;
  plan.machine = own;
  Plan alone = plan;
  plan_memory(alone, limit);
  return effect;
}

void drop_large_streams(Plan& plan, int64_t limit) {
  if (plan.streams == 1 || arena_of(plan) <= limit) return;
  for (Step& step : plan.entry().steps) step.stream = 0;
  plan.streams = 1;
}

}  // namespace gcg
