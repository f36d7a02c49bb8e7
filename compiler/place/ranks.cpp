#include <algorithm>

#include "compiler/place/list_schedule.h"

namespace gcg::place {
namespace {

size_t at(int number) { return static_cast<size_t>(number); }

double mean_time(const Group& group) {
  double sum = 0;
  int devices = 0;
  for (double us : group.us)
    if (us != kUnsupported) sum += us, ++devices;
  return devices == 0 ? 0 : sum / devices;
}

/// Sorts by rank, largest first. Equal ranks are sorted by `position`, so that producers come before readers.
std::vector<int> sorted_by(const std::vector<double>& rank, const std::vector<int>& topological,
                           const std::vector<int>& position) {
  std::vector<int> order = topological;
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return rank[at(a)] != rank[at(b)] ? rank[at(a)] > rank[at(b)] : position[at(a)] < position[at(b)];
  });
  return order;
}

}  // namespace

Ranks::Ranks(const Problem& problem, double sent)
    : problem_(problem),
      topological_(topological_order(problem)),
      position_(problem.groups.size()),
      upward_(problem.groups.size()),
      downward_(problem.groups.size()),
      factor_(problem.groups.size(), 1) {
  const int devices = problem.device_count();
  int pairs = 0;
  for (int from = 0; from < devices; ++from)
    for (int to = 0; to < devices; ++to)
      if (from != to) {
        mean_us_ += problem.link(from, to).us;
        mean_us_per_byte_ += 1 / problem.link(from, to).bytes_per_us;
        ++pairs;
      }
  if (pairs > 0) mean_us_ *= sent / pairs, mean_us_per_byte_ *= sent / pairs;
  for (size_t i = 0; i < topological_.size(); ++i) position_[at(topological_[i])] = static_cast<int>(i);
  for (auto g = topological_.rbegin(); g != topological_.rend(); ++g) {
    double after = 0;
    for (int v : problem.groups[at(*g)].outputs)
      for (int r : problem.values[at(v)].readers) after = std::max(after, mean_transfer(v) + upward_[at(r)]);
    upward_[at(*g)] = mean_time(problem.groups[at(*g)]) + after;
  }
  for (int g : topological_)
    for (int v : problem.groups[at(g)].outputs)
      for (int r : problem.values[at(v)].readers)
        downward_[at(r)] =
            std::max(downward_[at(r)], downward_[at(g)] + mean_time(problem.groups[at(g)]) + mean_transfer(v));
  by_rank_ = sorted_by(upward_, topological_, position_);
}

Ranks Ranks::disturbed(double share, Random& random) const {
  Ranks out = *this;
  for (size_t g = 0; g < factor_.size(); ++g) {
    out.factor_[g] = 1 + share * (2 * random.unit() - 1);
    out.upward_[g] *= out.factor_[g];
  }
  out.by_rank_ = sorted_by(out.upward_, topological_, position_);
  return out;
}

double Ranks::mean_transfer(int value) const {
  return mean_us_ + mean_us_per_byte_ * static_cast<double>(problem_.values[at(value)].bytes);
}

std::vector<int> order_by_rank(const Problem& problem, const Ranks& ranks, const std::vector<int>& device) {
  std::vector<double> rank(problem.groups.size());
  std::vector<int> position(problem.groups.size());
  for (size_t i = 0; i < position.size(); ++i) position[at(ranks.topological()[i])] = static_cast<int>(i);
  for (auto g = ranks.topological().rbegin(); g != ranks.topological().rend(); ++g) {
    const int here = device[at(*g)];
    double after = 0;
    for (int v : problem.groups[at(*g)].outputs) {
      const Value& value = problem.values[at(v)];
      const auto sent = [&](int to) { return to == here ? 0 : problem.link(here, to).time(value.bytes); };
      for (int r : value.readers) after = std::max(after, sent(device[at(r)]) + rank[at(r)]);
      if (value.wanted && value.wanted_on != kAnywhere) after = std::max(after, sent(value.wanted_on));
    }
    rank[at(*g)] = problem.groups[at(*g)].us[at(here)] + after;
  }
  return sorted_by(rank, ranks.topological(), position);
}

}  // namespace gcg::place
