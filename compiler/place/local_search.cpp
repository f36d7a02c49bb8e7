#include "compiler/place/local_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "compiler/place/random.h"

namespace gcg::place {
namespace {

size_t at(int number) { return static_cast<size_t>(number); }

class Annealing {
 public:
  Annealing(const Problem& problem, const Ranks& ranks, const SearchResult& start, const SearchOptions& options)
      : problem_(problem), ranks_(ranks), options_(options), simulator_(problem), random_(options.seed), best_(start) {
    for (int g = 0; g < problem.group_count(); ++g) {
      std::vector<int> devices;
      for (int d = 0; d < problem.device_count(); ++d)
        if (problem.groups[at(g)].runs_on(d)) devices.push_back(d);
      devices_.push_back(std::move(devices));
    }
    readers_.resize(problem.groups.size());
    producers_.resize(problem.groups.size());
    for (const Value& v : problem.values)
      for (int r : v.readers)
        if (v.producer != kCaller) readers_[at(v.producer)].push_back(r), producers_[at(r)].push_back(v.producer);
    const double few = std::min(1.0, kSmall / (2.0 * std::max(1, problem.group_count())));
    hot_ *= few;
    cold_ *= few;
    int64_t memory = 0;
    for (const Device& d : problem.devices) memory += d.memory_bytes == kEnough ? 0 : d.memory_bytes;
    group_bytes_ = static_cast<double>(memory) / std::max(1, problem.group_count());
    byte_price_ = least_price_ =
        memory == 0 ? 0 : kMemoryPrice * std::max(start.cost.us, 1e-9) / static_cast<double>(memory);
  }

  SearchResult run() {
    if (problem_.group_count() == 0) return best_;
    const int64_t least_round = kLeastRound * std::max(1, problem_.group_count() / kSmall);
    const int64_t rounds = std::clamp<int64_t>(options_.evaluations / least_round, 1, kMostRounds);
    for (int64_t round = 0; round < rounds; ++round) {
      byte_price_ = least_price_ * kPrices[at(static_cast<int>(round)) % kPrices.size()];
      const bool anew = round % 2 == 1 && problem_.group_count() <= kSmall;
      anneal(anew ? anywhere() : best_, options_.evaluations / rounds, anew ? kHotter : hot_);
    }
    return best_;
  }

  SearchResult fit() {
    memory_alone_ = true;
    const int64_t walk = kLeastRound * std::max(1, problem_.group_count() / kSmall);
    for (int64_t done = 0; done < options_.evaluations && best_.cost.missing_bytes > 0; done += walk)
      anneal(done == 0 ? best_ : anywhere_in_any_order(), walk, kHotter);
    return best_;
  }

 private:
  static constexpr double kLeastShare = 0.1;  // the cost of making a change, as a share of an evaluation
  static constexpr int64_t kLeastRound = 1000, kMostRounds = 16;
  // The least price of missing bytes: an amount equal to all memory costs this share of the run time of the start.
  static constexpr double kMemoryPrice = 0.3;
  // Temperatures, as multiples of the best placement's run time or, in a search by memory alone, of group_bytes_.
  static constexpr double kHot = 0.06, kHotter = 0.3, kCold = 0.0004;
  static constexpr std::array<double, 8> kPrices = {100, 10, 3, 30, 300, 3, 10, 30};  // by round
  // Number of consecutive placements that fit, or do not fit, before the price changes.
  static constexpr int kStreak = 20;
  static constexpr double kPriceStep = 1.6, kMostPrice = 300;

  double energy(const Simulator::Cost& cost) const {
    if (memory_alone_) return static_cast<double>(cost.missing_bytes);
    return cost.us * (cost.missing_bytes > 0 ? 1.1 : 1) + byte_price_ * static_cast<double>(cost.missing_bytes);
  }

  /// Raises the price of memory if placements do not fit, and lowers it if they fit. This keeps the walk near
  /// placements that just fit.
  void adapt_price(bool fits) {
    if (byte_price_ == 0) return;
    streak_ = fits == (streak_ > 0) ? streak_ + (fits ? 1 : -1) : (fits ? 1 : -1);
    if (std::abs(streak_) < kStreak) return;
    byte_price_ =
        std::clamp(byte_price_ * (fits ? 1 / kPriceStep : kPriceStep), least_price_, least_price_ * kMostPrice);
    streak_ = 0;
  }

  SearchResult anywhere() {
    SearchResult out = best_;
    for (int g = 0; g < problem_.group_count(); ++g) out.placement.device[at(g)] = any_device(g);
    out.placement.order = order_by_rank(problem_, ranks_, out.placement.device);
    out.cost = simulator_.cost(out.placement);
    return out;
  }

  SearchResult anywhere_in_any_order() {
    SearchResult out = anywhere();
    index(out.placement);
    for (int i = 0; i < 2 * problem_.group_count(); ++i) reorder(out.placement, random_.below(problem_.group_count()));
    out.cost = simulator_.cost(out.placement);
    return out;
  }

  void anneal(SearchResult now, int64_t evaluations, double hot) {
    index(now.placement);
    critical_.clear();
    const double scale = memory_alone_ ? group_bytes_ : std::max(best_.cost.us, 1e-9);
    for (double done = 0; done < static_cast<double>(evaluations); done += kLeastShare + simulator_.share()) {
      if (memory_alone_ && best_.cost.missing_bytes == 0) return;
      const double heat = scale * hot * std::pow(cold_ / hot, done / static_cast<double>(evaluations));
      const double most = energy(now.cost) - heat * std::log(random_.unit());  // the largest cost that is accepted
      before_ = now.placement;
      change(now.placement);
      const double longest = best_.cost.missing_bytes > 0 ? kUnsupported : std::max(most, best_.cost.us);
      const Simulator::Cost cost = simulator_.cost(now.placement, longest);
      if (cost < best_.cost) best_ = {now.placement, cost};
      if (energy(cost) <= most) {
        now.cost = cost;
        simulator_.critical_path(now.placement, critical_);
      } else {
        std::swap(now.placement, before_);
        index(now.placement);
      }
      adapt_price(now.cost.missing_bytes == 0);
    }
  }

  void index(const Placement& p) {
    position_.resize(p.order.size());
    for (size_t i = 0; i < p.order.size(); ++i) position_[at(p.order[i])] = static_cast<int>(i);
  }

  void change(Placement& p) {
    const bool any = critical_.empty() || random_.unit() >= kCritical;
    const int g =
        any ? random_.below(problem_.group_count()) : critical_[at(random_.below(static_cast<int>(critical_.size())))];
    switch (random_.below(10)) {
      case 0:
      case 1:
        move(p, g, any_device(g));
        break;
      case 2:
        move(p, g, any_device(g));
        reorder(p, g);
        break;
      case 3:
        swap(p, g, random_.below(problem_.group_count()));
        break;
      case 4:
        move_run(p, g);
        break;
      case 5:
        join_neighbour(p, g);
        break;
      case 6:
        if (problem_.group_count() > kSmall) {
          p.order = order_by_rank(problem_, ranks_, p.device);
          index(p);
          break;
        }
        [[fallthrough]];
      default:
        reorder(p, g);
    }
  }

  static constexpr double kCritical = 0.4;  // share of the changes that concern a critical group
  static constexpr int kSmall = 24;

  int any_device(int g) { return devices_[at(g)][at(random_.below(static_cast<int>(devices_[at(g)].size())))]; }

  void move(Placement& p, int g, int device) {
    if (problem_.groups[at(g)].runs_on(device)) p.device[at(g)] = device;
  }

  void swap(Placement& p, int a, int b) {
    const int of_a = p.device[at(a)], of_b = p.device[at(b)];
    if (!problem_.groups[at(a)].runs_on(of_b) || !problem_.groups[at(b)].runs_on(of_a)) return;
    p.device[at(a)] = of_b;
    p.device[at(b)] = of_a;
  }

  /// Moves the group and some of the groups after it.
  void move_run(Placement& p, int g) {
    const int device = any_device(g);
    for (int left = 2 + random_.below(4); left > 0; --left) {
      move(p, g, device);
      if (readers_[at(g)].empty()) break;
      g = readers_[at(g)][at(random_.below(static_cast<int>(readers_[at(g)].size())))];
    }
  }

  void join_neighbour(Placement& p, int g) {
    const int count = static_cast<int>(readers_[at(g)].size() + producers_[at(g)].size());
    if (count == 0) return;
    const int n = random_.below(count), readers = static_cast<int>(readers_[at(g)].size());
    move(p, g, p.device[at(n < readers ? readers_[at(g)][at(n)] : producers_[at(g)][at(n - readers)])]);
  }

  /// Gives the group another position in the order, between its producers and its readers.
  void reorder(Placement& p, int g) {
    int first = 0, last = problem_.group_count() - 1;
    for (int producer : producers_[at(g)]) first = std::max(first, position_[at(producer)] + 1);
    for (int reader : readers_[at(g)]) last = std::min(last, position_[at(reader)] - 1);
    const int from = position_[at(g)], to = first + random_.below(last - first + 1);
    const auto begin = p.order.begin();
    if (from < to) std::rotate(begin + from, begin + from + 1, begin + to + 1);
    if (to < from) std::rotate(begin + to, begin + from, begin + from + 1);
    for (int i = std::min(from, to); i <= std::max(from, to); ++i) position_[at(p.order[at(i)])] = i;
  }

  const Problem& problem_;
  const Ranks& ranks_;
  SearchOptions options_;
  Simulator simulator_;
  Random random_;
  SearchResult best_;
  Placement before_;
  bool memory_alone_ = false;
  double group_bytes_ = 0;  // memory of all devices, divided by the number of groups
  double byte_price_ = 0, least_price_ = 0;
  int streak_ = 0;                    // number of consecutive evaluations that fit; negative: that did not fit
  double hot_ = kHot, cold_ = kCold;  // in large problems, one move changes less
  std::vector<std::vector<int>> devices_, readers_, producers_;
  std::vector<int> critical_;  // Simulator::critical_path of the last accepted placement
  std::vector<int> position_;  // in the order
};

}  // namespace

SearchResult search(const Problem& problem, const Ranks& ranks, SearchResult start, const SearchOptions& options) {
  if (options.evaluations <= 0) return start;
  return Annealing(problem, ranks, start, options).run();
}

SearchResult search_fit(const Problem& problem, const Ranks& ranks, SearchResult start, const SearchOptions& options) {
  if (options.evaluations <= 0 || problem.group_count() == 0) return start;
  return Annealing(problem, ranks, start, options).fit();
}

}  // namespace gcg::place
