#include "compiler/place/refine.h"

#include <algorithm>

#include "compiler/place/list_schedule.h"
#include "compiler/place/local_search.h"
#include "compiler/place/simulate.h"
#include "compiler/support/error.h"

namespace gcg::place {
namespace {

size_t at(int number) { return static_cast<size_t>(number); }

struct Candidate {
  SearchResult found;
  std::string by;
};

class Alternatives {
 public:
  Alternatives(const Problem& problem, const Placement& now)
      : problem_(problem), ranks_(problem), simulator_(problem), now_(now) {
    add(now, "as it was");
  }

  void add(const Placement& placement, const std::string& by) {
    const Simulator::Cost cost = simulator_.cost(placement);
    all_.push_back({{placement, cost}, by});
  }

  void add_moves() {
    for (int g = 0; g < problem_.group_count(); ++g)
      for (int d = 0; d < problem_.device_count(); ++d) {
        if (d == now_.device[at(g)] || !problem_.groups[at(g)].runs_on(d)) continue;
        std::vector<int> device = now_.device;
        device[at(g)] = d;
        add({device, order_by_rank(problem_, ranks_, device)},
            "'" + problem_.groups[at(g)].name + "' moves to '" + problem_.devices[at(d)].name + "'");
      }
  }

  void add_exchanges() {
    const Timeline timeline = simulate(problem_, now_);
    for (int a = 0; a < problem_.device_count(); ++a)
      for (int b = 0; b < problem_.device_count(); ++b) {
        if (a == b) continue;
        const double on_a = all_groups_of(a, b, a), on_b = all_groups_of(a, b, b);
        const bool larger_idles_longer = on_a < on_b && timeline.busy_us[at(a)] < timeline.busy_us[at(b)];
        if (!larger_idles_longer) continue;
        std::vector<int> device = now_.device;
        for (int& d : device) d = d == a ? b : d == b ? a : d;
        if (supports(device))
          add({device, order_by_rank(problem_, ranks_, device)}, "'" + problem_.devices[at(a)].name + "' and '" +
                                                                     problem_.devices[at(b)].name +
                                                                     "' exchange their groups");
      }
  }

  void add_placed(const Options& options) {
    if (Placed result = place(problem_, options, &now_); result.placement) add(*result.placement, result.by);
  }

  /// Candidates sorted by cost, the best first; those that fit come before those that do not.
  std::vector<Candidate> sorted() {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.found.cost < b.found.cost; });
    return all_;
  }

 private:
  /// The time that device `on` would need for all groups of devices `a` and `b`.
  double all_groups_of(int a, int b, int on) const {
    double us = 0;
    for (int g = 0; g < problem_.group_count(); ++g)
      if (now_.device[at(g)] == a || now_.device[at(g)] == b) us += problem_.groups[at(g)].us[at(on)];
    return us;
  }
  bool supports(const std::vector<int>& device) const {
    for (int g = 0; g < problem_.group_count(); ++g)
      if (!problem_.groups[at(g)].runs_on(device[at(g)])) return false;
    return true;
  }

  const Problem& problem_;
  const Ranks ranks_;
  Simulator simulator_;
  const Placement now_;
  std::vector<Candidate> all_;
};

constexpr int64_t kMostMoves = 4096;  // single moves are tried if groups x devices is at most this

std::vector<Candidate> alternatives(const Problem& problem, const Placement& now, const Options& options) {
  Alternatives all(problem, now);
  if (int64_t{problem.group_count()} * problem.device_count() <= kMostMoves) all.add_moves();
  all.add_exchanges();
  all.add_placed(options);
  return all.sorted();
}

/// The noise of a run is half the interquartile range of its time. The gain has to exceed the noise of both placements.
/// The new placement's noise counts only in proportion to the time of the groups that stay on their devices.
bool exceeds_noise(const Problem& problem, const Placement& now, const Placement& then, double gain, double noise_us) {
  double all = 0, staying = 0;
  for (int g = 0; g < problem.group_count(); ++g) {
    const double us = problem.groups[at(g)].us[at(now.device[at(g)])];
    all += us;
    if (now.device[at(g)] == then.device[at(g)]) staying += us;
  }
  return gain > noise_us * (all > 0 ? 1 + staying / all : 2);
}

bool same(const Placement& a, const Placement& b) { return a.device == b.device && a.order == b.order; }

}  // namespace

Refined refine(const Problem& problem, const Placement& now, const RefineOptions& options) {
  const Simulator::Cost was = Simulator(problem).cost(now);
  const Candidate best = alternatives(problem, now, options.place).front();
  if (best.found.cost.missing_bytes > 0) return {now, was.us, was.us, false, "", place(problem, options.place).failure};
  const double gain = was.us - best.found.cost.us;
  const bool worth_it =
      was.missing_bytes > 0 ||
      (gain > options.threshold * was.us && exceeds_noise(problem, now, best.found.placement, gain, options.noise_us));
  if (!worth_it) return {now, was.us, was.us, false, "no placement gains enough", {}};
  return {best.found.placement, best.found.cost.us, was.us, true, best.by, {}};
}

NextRound next_round(const Problem& problem, const std::vector<Round>& rounds, const RefineOptions& options,
                     int most_rounds) {
  GCG_CHECK(!rounds.empty(), "no round was measured");
  const Round& best = *std::min_element(rounds.begin(), rounds.end(),
                                        [](const Round& a, const Round& b) { return a.measured_us < b.measured_us; });
  const NextRound end{true, best.placement, best.measured_us, ""};
  if (static_cast<int>(rounds.size()) >= most_rounds) return {true, end.placement, end.predicted_us, "the last round"};
  const double noise = std::max(options.noise_us, best.noise_us);
  for (const Candidate& c : alternatives(problem, best.placement, options.place)) {
    const double gain = best.measured_us - c.found.cost.us;
    if (c.found.cost.missing_bytes > 0 || gain <= options.threshold * best.measured_us) break;
    if (!exceeds_noise(problem, best.placement, c.found.placement, gain, noise)) continue;
    if (std::any_of(rounds.begin(), rounds.end(), [&](const Round& r) { return same(r.placement, c.found.placement); }))
      continue;
    return {false, c.found.placement, c.found.cost.us, c.by};
  }
  return {true, end.placement, end.predicted_us, "no untried placement is predicted to gain enough"};
}

}  // namespace gcg::place
