#include "compiler/place/place.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "compiler/place/list_schedule.h"
#include "compiler/place/local_search.h"
#include "compiler/place/simulate.h"
#include "compiler/support/error.h"

namespace gcg::place {
namespace {

size_t at(int number) { return static_cast<size_t>(number); }

constexpr size_t kSingleDevices = 8;  // devices tried for all groups: those with the least total time

int64_t size_of(const Problem& problem) {
  size_t size = problem.groups.size() + problem.values.size() + problem.devices.size();
  for (const Value& v : problem.values) size += v.readers.size();
  return static_cast<int64_t>(size);
}

std::vector<int> devices_for_all(const Problem& problem) {
  std::vector<std::pair<double, int>> found;
  for (int d = 0; d < problem.device_count(); ++d) {
    double us = 0;
    for (const Group& g : problem.groups) us += g.us[at(d)];
    if (us != kUnsupported) found.emplace_back(us, d);
  }
  std::sort(found.begin(), found.end());
  if (found.size() > kSingleDevices) found.resize(kSingleDevices);
  std::vector<int> devices;
  devices.reserve(found.size());
  for (const auto& [us, d] : found) devices.push_back(d);
  return devices;
}

class Portfolio {
 public:
  Portfolio(const Problem& problem, const Options& options)
      : problem_(problem), options_(options), ranks_(problem), simulator_(problem) {}

  void try_placement(const std::string& name, Placement placement) {
    const Simulator::Cost cost = simulator_.cost(placement);
    candidates_.push_back({{std::move(placement), cost}, name});
  }

  /// Runs the list schedulers with `problem`'s links and the given upward ranks.
  void try_rules(const Problem& problem, const Ranks& ranks, const std::string& how) {
    static constexpr std::pair<const char*, ListRule> kRules[] = {
        {"heft", ListRule::heft}, {"peft", ListRule::peft},       {"chains", ListRule::chains},
        {"etf", ListRule::etf},   {"min-min", ListRule::min_min}, {"max-min", ListRule::max_min},
        {"cpop", ListRule::cpop}};
    const double estimates = static_cast<double>(size_of(problem_)) * static_cast<double>(problem_.devices.size());
    for (const auto& [name, rule] : kRules) {
      const bool compares_ready = rule == ListRule::etf || rule == ListRule::min_min || rule == ListRule::max_min;
      const bool affordable =
          estimates * (compares_ready ? kReadyAtOnce : 1) <= kRuleShare * static_cast<double>(options_.effort);
      if (affordable || rule == ListRule::heft)  // HEFT always runs
        try_placement(name + how, list_schedule(problem, ranks, rule));
    }
  }

  void try_all() {
    for (int d : devices_for_all(problem_)) {
      const std::vector<int> device(problem_.groups.size(), d);
      try_placement("all on " + problem_.devices[at(d)].name, {device, order_by_rank(problem_, ranks_, device)});
    }
    try_rules(problem_, ranks_, "");
    if (size_of(problem_) > kScheduledAgain) return;
    // Ranks without transfers are also tried, because many values may stay on one device.
    try_rules(problem_, Ranks(problem_, 0), " by work");
    if (!problem_.links_queue) return;
    // Without queues at links, rules spread groups over more devices; the search then corrects this.
    Problem free = problem_;
    free.links_queue = false;
    try_rules(free, ranks_, " with free links");
  }

  /// Runs rules with perturbed ranks. The order of groups with similar ranks is arbitrary, but matters more than the
  /// moves of a later search.
  void try_disturbed() {
    if (size_of(problem_) > kScheduledAgain) return;
    const double estimates =
        2.0 * static_cast<double>(size_of(problem_)) * static_cast<double>(problem_.devices.size());
    const auto affordable = static_cast<int>(kDisturbedShare * static_cast<double>(options_.effort) / estimates);
    Random random(options_.seed);
    for (int i = 0; i < std::min(affordable, kDisturbed); ++i) {
      const Ranks ranks = ranks_.disturbed(kShares[static_cast<size_t>(i) % kShares.size()], random);
      for (const auto& [name, rule] : {std::pair("heft", ListRule::heft), std::pair("peft", ListRule::peft)})
        try_placement(concat(name, " by disturbed ranks"), list_schedule(problem_, ranks, rule));
    }
  }

  /// Searches from each of the best few candidates. With few groups, the searches share the budget. With more groups,
  /// each search has the whole budget, because ties decide which candidate comes first. With many groups, only the
  /// first candidate is searched, because one long walk is needed.
  void improve() {
    sort();
    const int64_t size = size_of(problem_);  // steps take longer if the problem does not fit the processor's caches
    const auto choices = static_cast<int64_t>(problem_.groups.size() * problem_.devices.size());
    const int64_t evaluations =
        std::min({options_.effort / size * kCached / (kCached + size) * kCached / (kCached + size), kMostEvaluations,
                  kEvaluationsPerChoice * choices});
    const size_t groups = problem_.groups.size();
    const size_t starts = groups <= kSome && evaluations >= kFewEvaluations ? std::min(candidates_.size(), kStarts) : 1;
    const int64_t each = groups <= kFew ? evaluations / static_cast<int64_t>(starts) : evaluations;
    for (size_t i = 0; i < starts; ++i) {
      const SearchOptions search_options{each, options_.seed + i};
      SearchResult found = search(problem_, ranks_, candidates_[i].found, search_options);
      if (found.cost < candidates_[i].found.cost) candidates_.push_back({std::move(found), "search"});
    }
    sort();
    if (best().cost.missing_bytes > 0) make_fit(evaluations);
  }

  const SearchResult& best() const { return candidates_.front().found; }
  const std::string& by() const { return candidates_.front().name; }

 private:
  static constexpr double kReadyAtOnce = 8, kRuleShare = 0.1;
  // Up to this size, rules also run with perturbed ranks and other links.
  static constexpr int64_t kScheduledAgain = 10'000;
  static constexpr int kDisturbed = 48;
  static constexpr double kDisturbedShare = 0.3;  // the largest share of the effort for perturbed ranks
  static constexpr std::array<double, 4> kShares = {0.01, 0.03, 0.1, 0.3};
  static constexpr int64_t kCached = 10'000, kEvaluationsPerChoice = 2'000;
  static constexpr int64_t kMostEvaluations = 100'000, kFewEvaluations = 4'000;
  static constexpr size_t kStarts = 3, kFew = 40, kSome = 400;

  struct Candidate {
    SearchResult found;
    std::string name;
  };

  /// Finds any placement that fits, then improves it. Used if the search for the least time found no placement that
  /// fits.
  void make_fit(int64_t evaluations) {
    SearchResult found = search_fit(problem_, ranks_, best(), {evaluations, options_.seed});
    if (found.cost.missing_bytes > 0) return;
    candidates_.push_back({search(problem_, ranks_, std::move(found), {evaluations, options_.seed}), "search"});
    sort();
  }

  void sort() {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.found.cost < b.found.cost; });
  }

  const Problem& problem_;
  const Options& options_;
  Ranks ranks_;
  Simulator simulator_;
  std::vector<Candidate> candidates_;
};

/// A group that no device runs.
std::optional<PlacementFailure> unsupported(const Problem& problem) {
  for (int g = 0; g < problem.group_count(); ++g) {
    const std::vector<double>& us = problem.groups[at(g)].us;
    if (std::any_of(us.begin(), us.end(), [](double t) { return t != kUnsupported; })) continue;
    PlacementFailure failure{g, {}};
    for (int d = 0; d < problem.device_count(); ++d) failure.rows.push_back({d, false, 0, 0});
    return failure;
  }
  return std::nullopt;
}

int64_t live_bytes(const Problem& problem, const Group& group) {
  int64_t bytes = group.working_bytes;
  for (int v : group.inputs) bytes += problem.values[at(v)].bytes;
  for (int v : group.outputs) bytes += problem.values[at(v)].bytes;
  return bytes;
}

/// Places groups in the order of their memory needs, largest first, each where most memory is free. Reports the first
/// group that does not fit. If all fit one by one, values of several groups together exceed the memory, and the largest
/// group is reported.
PlacementFailure explain(const Problem& problem) {
  std::vector<std::pair<int64_t, int>> by_need;
  for (int g = 0; g < problem.group_count(); ++g) {
    int64_t bytes = live_bytes(problem, problem.groups[at(g)]);
    for (int w : problem.groups[at(g)].weights) bytes += problem.weights[at(w)];
    by_need.emplace_back(-bytes, g);
  }
  std::sort(by_need.begin(), by_need.end());
  std::vector<std::set<int>> resident(problem.devices.size());
  std::vector<int64_t> used(problem.devices.size());
  PlacementFailure largest;
  for (const auto& [need, g] : by_need) {
    const Group& group = problem.groups[at(g)];
    PlacementFailure failure{g, {}};
    int best = -1;
    for (int d = 0; d < problem.device_count(); ++d) {
      PlacementFailure::Row row{d, group.runs_on(d), live_bytes(problem, group),
                                problem.devices[at(d)].memory_bytes - used[at(d)]};
      for (int w : group.weights) row.needed += resident[at(d)].count(w) == 0 ? problem.weights[at(w)] : 0;
      failure.rows.push_back(row);
      const auto left = [&](int device) { return failure.rows[at(device)].free - failure.rows[at(device)].needed; };
      if (row.supported && row.needed <= row.free && (best < 0 || left(d) > left(best))) best = d;
    }
    if (largest.group < 0) largest = failure;
    if (best < 0) return failure;
    for (int w : group.weights)
      if (resident[at(best)].insert(w).second) used[at(best)] += problem.weights[at(w)];
  }
  return largest;
}

}  // namespace

Placed place(const Problem& problem, const Options& options, const Placement* hint) {
  Placed result;
  if (auto failure = unsupported(problem)) {
    result.failure = std::move(*failure);
    return result;
  }
  Portfolio portfolio(problem, options);
  if (hint != nullptr) portfolio.try_placement("as it was", *hint);
  portfolio.try_all();
  portfolio.try_disturbed();
  portfolio.improve();
  if (portfolio.best().cost.missing_bytes > 0) {
    result.failure = explain(problem);
    return result;
  }
  result.placement = portfolio.best().placement;
  result.us = portfolio.best().cost.us;
  result.by = portfolio.by();
  return result;
}

std::string describe(const Problem& problem, const PlacementFailure& failure) {
  const std::string name = "group '" + problem.groups[at(failure.group)].name + "'";
  std::string text;
  bool fits = false;
  for (const PlacementFailure::Row& row : failure.rows) {
    text += concat(text.empty() ? "" : "; ", "'", problem.devices[at(row.device)].name, "' ");
    if (row.supported)
      text += concat("has ", row.free, " free bytes, but it needs ", row.needed);
    else
      text += "does not support it";
    fits = fits || (row.supported && row.needed <= row.free);
  }
  return fits ? concat("no placement fits the weights and values of all groups; the largest, ", name, ": ", text)
              : concat(name, " fits on no device: ", text);
}

}  // namespace gcg::place
