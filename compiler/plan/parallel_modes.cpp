#include "compiler/plan/parallel_modes.h"

#include <algorithm>
#include <map>

#include "compiler/kernel/typical_extent.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/step_cost.h"
#include "compiler/plan/thread_schedule.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

constexpr int kThreads[] = {2, 4, 8, 16};
constexpr size_t kMostStreams = kAllThreads;
// Plans with more steps get no streams, because planning their memory takes quadratic time.
constexpr size_t kMostSteps = 4096;
constexpr double kGainOfThreads = 0.95;  // share of one thread's time; if several threads take more, one thread is used

ThreadWork work_of(const Plan& plan, const Step& step) {
  ThreadWork work{core_microseconds(plan, step), 1};
  if (const auto* launch = step.as<Launch>(); launch != nullptr && plan.code.contains(launch->kernel))
    work.tasks = std::max(1.0, typical(plan.code[launch->kernel].tasks));
  for (StepId w : step.waits) work.after.push_back(static_cast<size_t>(w.index));
  return work;
}

/// Steps [begin, end) of the entry sequence, between two barriers.
struct StepRange {
  size_t begin = 0;
  std::vector<ThreadWork> steps;
};

std::vector<StepRange> stretches_of(const Plan& plan) {
  std::vector<StepRange> out(1);
  size_t position = 0;
  for (const Step& step : plan.entry().steps) {
    if (step.is_barrier()) {
      out.push_back({position + 1});
    } else {
      ThreadWork work = work_of(plan, step);
      std::erase_if(work.after, [&](size_t p) { return p < out.back().begin; });
      for (size_t& p : work.after) p -= out.back().begin;
      out.back().steps.push_back(std::move(work));
    }
    ++position;
  }
  return out;
}

class Modes {
 public:
  Modes(Plan& plan, ModeRule rule)
      : plan_(plan), rule_(rule), stretches_(stretches_of(plan)), threads_of_(plan.entry().steps.size()) {
    if (!is_synchronous(rule)) return;
    for (StepRange& range : stretches_)
      for (ThreadWork& work : range.steps) work.tasks = 1;
  }

  void choose() {
    const bool streams = plan_.entry().steps.size() <= kMostSteps && rule_ != ModeRule::asynchronous;
    for (const int threads : kThreads) add_mode(threads, streams);
    name_streams();
  }

 private:
  void add_mode(int threads, bool streams) {
    ParallelMode mode{.threads = threads, .intra = threads};
    mode.microseconds = mode.microseconds_intra = kThreadFork;
    std::vector<int> placed(threads_of_.size(), kTogether);
    bool shared = false;
    for (const StepRange& range : stretches_) {
      const ThreadSchedule schedule = schedule_threads(range.steps, threads);
      mode.microseconds += schedule.microseconds;
      mode.microseconds_intra += schedule.microseconds_intra;
      std::copy(schedule.threads.begin(), schedule.threads.end(),
                placed.begin() + static_cast<std::ptrdiff_t>(range.begin));
      for (size_t i = 0; i < range.steps.size(); ++i) {
        mode.microseconds_alone += range.steps[i].microseconds;
        mode.inter = std::max(mode.inter, schedule.threads[i] + 1);
        shared = shared || (schedule.threads[i] == kTogether && range.steps[i].tasks > 1);
      }
    }
    if (!streams) mode.inter = 1, mode.microseconds = mode.microseconds_intra;
    const bool gains = mode.microseconds <= kGainOfThreads * mode.microseconds_alone;
    const bool alone = rule_ == ModeRule::costs ? !gains : rule_ == ModeRule::asynchronous;
    if (alone || (is_synchronous(rule_) && !(gains && mode.inter > 1))) {
      mode.intra = mode.inter = 1;
      mode.replicas = threads;
      mode.microseconds = mode.microseconds_alone;
    }
    if (mode.inter > 1 && is_synchronous(rule_)) {
      std::replace(placed.begin(), placed.end(), kTogether, 0);
      mode.replicas = threads / mode.inter;
    }
    if (mode.inter > 1 && !shared) mode.intra = 1;
    if (mode.inter == 1) placed.assign(placed.size(), kTogether);
    mode.reason = word_of(rule_);
    for (size_t i = 0; i < placed.size(); ++i) threads_of_[i].push_back(placed[i]);
    plan_.modes.push_back(std::move(mode));
  }

  /// Steps with the same threads in all modes form a stream. Stream 0 is for steps that all threads share.
  void name_streams() {
    std::map<std::vector<int>, int> streams = {{std::vector<int>(plan_.modes.size(), kTogether), 0}};
    for (ParallelMode& mode : plan_.modes) mode.stream_threads = {kAllThreads};
    for (StepId i : plan_.entry().steps.ids()) {
      const std::vector<int>& threads = threads_of_[static_cast<size_t>(i.index)];
      if (plan_.entry().steps[i].is_barrier()) continue;
      const auto [it, fresh] = streams.try_emplace(threads, static_cast<int>(streams.size()));
      if (fresh && streams.size() > kMostStreams) it->second = 0;
      if (fresh && it->second > 0)
        for (size_t m = 0; m < threads.size(); ++m)
          plan_.modes[m].stream_threads.push_back(threads[m] == kTogether ? kAllThreads
                                                                          : static_cast<uint8_t>(threads[m]));
      plan_.entry().steps[i].stream = it->second;
    }
    plan_.streams = static_cast<int>(plan_.modes[0].stream_threads.size());
  }

  Plan& plan_;
  const ModeRule rule_;
  std::vector<StepRange> stretches_;
  std::vector<std::vector<int>> threads_of_;  // threads per step and mode
};

int64_t arena_of(Plan plan) {
  plan_memory(plan, std::nullopt);
  return plan.memory.layout.bytes;
}

void drop_streams(Plan& plan, ModeRule rule) {
  const bool shares = !is_synchronous(rule);
  for (Step& step : plan.entry().steps) step.stream = 0;
  plan.streams = 1;
  for (ParallelMode& mode : plan.modes) {
    mode.stream_threads = {kAllThreads};
    if (mode.inter == 1) continue;
    mode.inter = 1;
    mode.intra = shares ? mode.threads : 1;
    mode.replicas = shares ? 1 : mode.threads;
    mode.microseconds = shares ? mode.microseconds_intra : mode.microseconds_alone;
    mode.reason = concat("arena", rule == ModeRule::costs ? "" : " ", word_of(rule));
  }
}

}  // namespace

const char* word_of(ModeRule rule) {
  switch (rule) {
    case ModeRule::costs:
      return "";
    case ModeRule::asynchronous:
      return "asynchronous";
    case ModeRule::batch_statistics:
      return "batch_statistics";
    case ModeRule::synchronous:
      return "synchronous";
    case ModeRule::exchanged_statistics:
      return "exchanged_statistics";
  }
  return "";
}

void choose_parallel_modes(Plan& plan, std::optional<int64_t> memory_limit, ModeRule rule) {
  if (plan.entry().steps.empty()) return;
  Modes(plan, rule).choose();
  if (plan.streams == 1) return;
  Plan one = plan;
  for (Step& step : one.entry().steps) step.stream = 0;
  one.streams = 1;
  const int64_t with = arena_of(plan), without = arena_of(std::move(one));  // 0: not static
  const auto most = static_cast<int64_t>(kMostArenaGrowth * static_cast<double>(without)) + kSmallArena;
  if (with > most || (memory_limit && with > *memory_limit)) drop_streams(plan, rule);
}

}  // namespace gcg
