#include "compiler/plan/recompute_schedule.h"

#include <algorithm>

namespace gcg {
namespace {

// Before each choice the search simulates at least kLeastTried and at most kMostTried candidates. Between these limits,
// the simulations run about kTriedSteps steps in all.
constexpr size_t kMostTried = 48, kLeastTried = 4;
constexpr size_t kTriedSteps = 8'000;
constexpr double kLeastTime = 1e-3;  // microseconds

/// The uses of a buffer: it is written by step places[0] and read by the others, in order. Gap first_gap + i follows
/// use i.
struct Uses {
  std::vector<int> places;
  size_t first_gap = 0;
};

/// The interval between two uses of a value.
struct Gap {
  bool leaves = false;  // the value leaves memory, and its step runs again before the next use
  // If a repetition computes the value in this gap for another repetition, the value leaves memory again.
  bool passes = false;
};

class Simulation {
 public:
  Simulation(const RecomputeProblem& problem, const std::vector<Uses>& uses, const std::vector<Gap>& gaps)
      : p_(problem), uses_(uses), gaps_(gaps), current_(problem.buffers.size(), -1), next_(problem.buffers.size(), 0) {
    runs_.reserve(2 * p_.steps.size());
    for (size_t s = 0; s < p_.steps.size(); ++s) run(static_cast<int>(s));
    measure();
  }

  double microseconds() const { return microseconds_; }
  int64_t peak() const { return in_use_.empty() ? 0 : *std::max_element(in_use_.begin(), in_use_.end()); }

  /// Bytes over the limit, summed over runs.
  double excess(int64_t limit) const {
    double sum = 0;
    for (int64_t bytes : in_use_) sum += static_cast<double>(std::max<int64_t>(bytes - limit, 0));
    return sum;
  }

  /// The original step that runs at the peak, or the first original step after the peak.
  int step_at_peak() const {
    size_t at = peak_position();
    while (runs_[at].again) ++at;
    return runs_[at].step;
  }

  /// Gaps in which a repetition computed a value that is in memory at the peak, because another repetition reads it.
  std::vector<size_t> made_at_peak() const {
    const auto at = static_cast<int>(peak_position());
    std::vector<size_t> gaps;
    for (const auto& [instance, gap] : made_) {
      const Life& life = lives_[static_cast<size_t>(instance)];
      if (life.first <= at && at <= life.last && !gaps_[gap].passes) gaps.push_back(gap);
    }
    return gaps;
  }

  RecomputeSchedule schedule() const {
    RecomputeSchedule out;
    out.peak = peak();
    out.microseconds = microseconds_;
    for (const Life& life : lives_) out.buffer_of.push_back(life.buffer);
    for (const Run& run : runs_) {
      const RecomputeProblem::Step& step = p_.steps[static_cast<size_t>(run.step)];
      const auto reads = instances_.begin() + static_cast<std::ptrdiff_t>(run.first);
      const auto writes = reads + static_cast<std::ptrdiff_t>(step.reads.size());
      out.runs.push_back({run.step, run.again, {reads, writes}, {writes, writes + std::ssize(step.writes)}});
    }
    return out;
  }

 private:
  struct Run {
    int step;
    bool again;
    size_t first;  // position in instances_: the instances that the run reads, then those that it writes
  };
  struct Life {
    int buffer, first, last;  // first, last: positions of runs
  };

  size_t peak_position() const {
    return static_cast<size_t>(std::max_element(in_use_.begin(), in_use_.end()) - in_use_.begin());
  }
  size_t gap_of(int b) const { return uses_[static_cast<size_t>(b)].first_gap + next_[static_cast<size_t>(b)] - 1; }

  void run(int s) {
    const RecomputeProblem::Step& step = p_.steps[static_cast<size_t>(s)];
    for (int b : step.reads) need(b, false);
    add(s, false);
    for (int b : passing_) current_[static_cast<size_t>(b)] = -1;
    passing_.clear();
    for (const auto* list : {&step.reads, &step.writes})
      for (int b : *list) pass(b, s);
  }

  /// Records that step `s` has used the buffer.
  void pass(int b, int s) {
    const auto at = static_cast<size_t>(b);
    const std::vector<int>& places = uses_[at].places;
    while (next_[at] < places.size() && places[next_[at]] <= s) ++next_[at];
    if (gaps_[gap_of(b)].leaves) current_[at] = -1;
  }

  void need(int b, bool for_repetition) {
    const auto at = static_cast<size_t>(b);
    if (current_[at] >= 0) return;
    const int maker = uses_[at].places[0];
    for (int r : p_.steps[static_cast<size_t>(maker)].reads) need(r, true);
    add(maker, true);
    if (!for_repetition) return;
    const bool is_used_up = next_[at] == uses_[at].places.size();
    if (!is_used_up) made_.push_back({current_[at], gap_of(b)});
    if (is_used_up || gaps_[gap_of(b)].passes) passing_.push_back(b);
  }

  void add(int s, bool again) {
    const RecomputeProblem::Step& step = p_.steps[static_cast<size_t>(s)];
    const auto position = static_cast<int>(runs_.size());
    runs_.push_back({s, again, instances_.size()});
    for (int b : step.reads) {
      instances_.push_back(current_[static_cast<size_t>(b)]);
      lives_[static_cast<size_t>(instances_.back())].last = position;
    }
    for (int b : step.writes) {
      instances_.push_back(static_cast<int>(lives_.size()));
      lives_.push_back({b, position, position});
      int& current = current_[static_cast<size_t>(b)];
      if (current < 0 || !again) current = instances_.back();
    }
    if (again) microseconds_ += step.microseconds;
  }

  void measure() {
    in_use_.assign(runs_.size() + 1, 0);
    for (const Life& life : lives_) {
      const int64_t bytes = p_.buffers[static_cast<size_t>(life.buffer)].bytes;
      in_use_[static_cast<size_t>(life.first)] += bytes;
      in_use_[static_cast<size_t>(life.last) + 1] -= bytes;
    }
    for (size_t r = 1; r < in_use_.size(); ++r) in_use_[r] += in_use_[r - 1];
    in_use_.pop_back();
    for (size_t r = 0; r < runs_.size(); ++r) in_use_[r] -= taken_over(r);
  }

  /// Bytes of the run's result, if it takes over the memory of an operand that is read for the last time; otherwise 0.
  int64_t taken_over(size_t position) const {
    const Run& run = runs_[position];
    const RecomputeProblem::Step& step = p_.steps[static_cast<size_t>(run.step)];
    if (step.writes.size() != 1) return 0;
    const int64_t bytes = p_.buffers[static_cast<size_t>(step.writes[0])].bytes;
    for (size_t i = 0; i < step.reads.size(); ++i) {
      const int b = step.reads[i];
      const Life& life = lives_[static_cast<size_t>(instances_[run.first + i])];
      const bool allowed = std::find(step.in_place.begin(), step.in_place.end(), b) != step.in_place.end();
      if (allowed && life.last == static_cast<int>(position) && p_.buffers[static_cast<size_t>(b)].bytes == bytes)
        return bytes;
    }
    return 0;
  }

  const RecomputeProblem& p_;
  const std::vector<Uses>& uses_;
  const std::vector<Gap>& gaps_;
  std::vector<Run> runs_;
  std::vector<int> instances_;
  std::vector<Life> lives_;   // by instance
  std::vector<int> current_;  // by buffer: its instance in memory; -1: none
  std::vector<size_t> next_;  // by buffer: position of its next use in Uses::places
  // Buffers that repetitions have computed and that leave memory after the next original step.
  std::vector<int> passing_;
  std::vector<std::pair<int, size_t>> made_;  // instances that were computed for another repetition, and their gaps
  std::vector<int64_t> in_use_;               // bytes, by run
  double microseconds_ = 0;                   // time of the repetitions
};

class Search {
 public:
  Search(const RecomputeProblem& problem, int64_t limit) : p_(problem), limit_(limit), uses_(problem.buffers.size()) {
    for (size_t s = 0; s < p_.steps.size(); ++s)
      for (const auto* list : {&p_.steps[s].reads, &p_.steps[s].writes})
        for (int b : *list) {
          std::vector<int>& places = uses_[static_cast<size_t>(b)].places;
          if (places.empty() || places.back() != static_cast<int>(s)) places.push_back(static_cast<int>(s));
        }
    for (size_t b = 0; b < uses_.size(); ++b) {
      uses_[b].first_gap = gaps_.size();
      gaps_.resize(gaps_.size() + std::max<size_t>(uses_[b].places.size(), 1));
      // After its last use only repetitions read the value, and they can compute it again.
      gaps_.back().leaves = can_leave(b);
    }
    tried_ = std::clamp(kTriedSteps / (p_.steps.size() + 1), kLeastTried, kMostTried);
  }

  Simulation simulate() const { return {p_, uses_, gaps_}; }

  bool run() {
    for (;;) {
      const Simulation now = simulate();
      if (now.excess(limit_) == 0) break;
      bool* const best = best_choice(now);
      if (best == nullptr) return false;
      *best = true;
      chosen_.push_back(best);
    }
    keep_what_fits();
    return true;
  }

 private:
  struct Candidate {
    bool* choice;
    double score;
  };

  bool can_leave(size_t b) const {
    const std::vector<int>& places = uses_[b].places;
    return p_.buffers[b].can_leave && p_.buffers[b].bytes > 0 && !places.empty() &&
           p_.steps[static_cast<size_t>(places[0])].can_repeat;
  }

  /// Choices that may lower the peak, the most promising first.
  std::vector<Candidate> candidates(const Simulation& now) {
    const int peak = now.step_at_peak();
    std::vector<Candidate> all;
    for (size_t b = 0; b < uses_.size(); ++b) {
      const std::vector<int>& places = uses_[b].places;
      for (size_t i = 0; can_leave(b) && i + 1 < places.size(); ++i) {
        Gap& gap = gaps_[uses_[b].first_gap + i];
        if (places[i] >= peak || places[i + 1] < peak || gap.leaves) continue;
        const double cost = p_.steps[static_cast<size_t>(places[0])].microseconds;
        all.push_back({&gap.leaves, static_cast<double>(p_.buffers[b].bytes) / (cost + kLeastTime)});
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.score > y.score; });
    if (all.size() > tried_) all.resize(tried_);
    const std::vector<size_t> made = now.made_at_peak();
    for (size_t i = 0; i < std::min(made.size(), tried_); ++i) all.push_back({&gaps_[made[i]].passes, 0});
    return all;
  }

  /// The choice that saves the most bytes above the limit per microsecond. If no choice saves anything, the one that
  /// adds the fewest bytes: another choice may then save more than both add. Null if there is no choice.
  bool* best_choice(const Simulation& now) {
    const double excess = now.excess(limit_);
    bool* best = nullptr;
    double most = 0;
    for (const Candidate& c : candidates(now)) {
      *c.choice = true;
      const Simulation then = simulate();
      *c.choice = false;
      const double gain = excess - then.excess(limit_);
      const double cost = std::max(then.microseconds() - now.microseconds(), kLeastTime);
      const double value = gain > 0 ? gain / cost : gain - 1;
      if (best != nullptr && value <= most) continue;
      most = value;
      best = c.choice;
    }
    return best;
  }

  /// Undoes choices that later ones have made unnecessary, as long as this saves time.
  void keep_what_fits() {
    for (size_t b = 0; b < uses_.size(); ++b)
      if (can_leave(b)) chosen_.push_back(&gaps_[uses_[b].first_gap + uses_[b].places.size() - 1].leaves);
    double least = simulate().microseconds();
    for (bool changed = true; changed && least > 0;) {
      changed = false;
      for (bool* choice : chosen_) {
        if (!*choice || least == 0) continue;
        *choice = false;
        const Simulation then = simulate();
        const bool is_better = then.excess(limit_) == 0 && then.microseconds() < least;
        if (is_better) least = then.microseconds();
        *choice = !is_better;
        changed = changed || is_better;
      }
    }
  }

  const RecomputeProblem& p_;
  const int64_t limit_;
  std::vector<Uses> uses_;
  std::vector<Gap> gaps_;
  std::vector<bool*> chosen_;
  size_t tried_;
};

}  // namespace

RecomputeSchedule schedule_once(const RecomputeProblem& problem) {
  return Search(problem, INT64_MAX).simulate().schedule();
}

std::optional<RecomputeSchedule> schedule_within(const RecomputeProblem& problem, int64_t limit) {
  Search search(problem, limit);
  if (!search.run()) return std::nullopt;
  return search.simulate().schedule();
}

}  // namespace gcg
