// Placers: invariants, and small cases with a known best placement.
#include "compiler/place/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compiler/place/list_schedule.h"
#include "compiler/place/refine.h"
#include "compiler/place/simulate.h"
#include "tests/place/driver/problem_json.h"

namespace gcg::place {
namespace {

/// Adds groups with edges to later ones.
Problem random_problem(uint32_t seed, int groups, int devices, bool memory) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  Problem p;
  for (int d = 0; d < devices; ++d) p.devices.push_back({"d" + std::to_string(d), memory ? 4000 / devices : kEnough});
  p.links.assign(static_cast<size_t>(devices * devices), {1, 2});
  for (int g = 0; g < groups; ++g) {
    Group group;
    group.name = "g" + std::to_string(g);
    for (int d = 0; d < devices; ++d) group.us.push_back(1 + below(60));
    if (devices > 1 && below(5) == 0) group.us[static_cast<size_t>(below(devices))] = kUnsupported;
    group.weights = {g};
    p.weights.push_back(10 + below(100));
    p.groups.push_back(group);
  }
  for (int g = 0; g < groups; ++g) {
    Value v{10 + below(40), g, kAnywhere, {}, false, kAnywhere};
    for (int r = g + 1; r < groups; ++r)
      if (below(groups) < 3) v.readers.push_back(r);
    v.wanted = v.readers.empty();
    for (int r : v.readers) p.groups[static_cast<size_t>(r)].inputs.push_back(g);
    p.groups[static_cast<size_t>(g)].outputs.push_back(g);
    p.values.push_back(v);
  }
  return p;
}

void expect_runs(const Problem& p, const Placement& placement) {
  std::vector<int> position(p.groups.size(), -1);
  ASSERT_EQ(placement.order.size(), p.groups.size());
  for (size_t i = 0; i < placement.order.size(); ++i)
    position[static_cast<size_t>(placement.order[i])] = static_cast<int>(i);
  for (size_t g = 0; g < p.groups.size(); ++g) {
    ASSERT_GE(position[g], 0) << g;
    EXPECT_TRUE(p.groups[g].runs_on(placement.device[g])) << g;
  }
  for (const Value& v : p.values)
    for (int r : v.readers) {
      if (v.producer != kCaller) {
        EXPECT_LT(position[static_cast<size_t>(v.producer)], position[static_cast<size_t>(r)]);
      }
    }
}

/// The smallest time over all d^n assignments and all orders that a depth-first walk visits.
class Exhaustive {
 public:
  explicit Exhaustive(const Problem& problem) : p_(problem), simulator_(problem), open_(problem.groups.size()) {
    for (size_t g = 0; g < open_.size(); ++g)
      for (int v : p_.groups[g].inputs) open_[g] += p_.values[static_cast<size_t>(v)].producer != kCaller;
    now_.device.resize(open_.size());
  }
  Simulator::Cost best() {
    walk();
    return best_;
  }

 private:
  void walk() {
    if (now_.order.size() == open_.size()) {
      best_ = std::min(best_, simulator_.cost(now_));
      return;
    }
    for (size_t g = 0; g < open_.size(); ++g) {
      if (open_[g] != 0) continue;
      step(static_cast<int>(g), -1);
      for (int d = 0; d < p_.device_count(); ++d) {
        now_.device[g] = d;
        if (p_.groups[g].runs_on(d)) walk();
      }
      step(static_cast<int>(g), 1);
    }
  }
  void step(int g, int by) {
    open_[static_cast<size_t>(g)] += by < 0 ? 1000 : -1000;  // taken
    by < 0 ? now_.order.push_back(g) : now_.order.pop_back();
    for (int v : p_.groups[static_cast<size_t>(g)].outputs)
      for (int r : p_.values[static_cast<size_t>(v)].readers) open_[static_cast<size_t>(r)] += by;
  }

  const Problem& p_;
  Simulator simulator_;
  std::vector<int> open_;
  Placement now_;
  Simulator::Cost best_{kEnough, kUnsupported};
};

TEST(Place, FindsWhatExhaustiveSearchFinds) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Problem p = random_problem(seed, 5, 2, seed % 2 == 1);
    const Simulator::Cost best = Exhaustive(p).best();
    const Placed found = place(p);
    ASSERT_EQ(found.placement.has_value(), best.missing_bytes == 0) << seed;
    if (found.placement) {
      EXPECT_LE(found.us, 1.0001 * best.us) << seed;
    }
  }
}

TEST(Place, EveryRuleGivesPlacementsThatRun) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Problem p = random_problem(seed, 1 + static_cast<int>(seed), 1 + static_cast<int>(seed % 5), seed % 3 == 0);
    const Ranks ranks(p);
    for (ListRule rule : {ListRule::heft, ListRule::peft, ListRule::etf, ListRule::min_min, ListRule::max_min,
                          ListRule::cpop, ListRule::chains})
      expect_runs(p, list_schedule(p, ranks, rule));
  }
}

TEST(Place, TheSameEveryTimeAndNeverWorseThanItsParts) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const Problem p = random_problem(seed, 40, 3, false);
    const Placed a = place(p), b = place(p);
    ASSERT_TRUE(a.placement);
    expect_runs(p, *a.placement);
    EXPECT_EQ(a.placement->device, b.placement->device);
    EXPECT_EQ(a.placement->order, b.placement->order);
    EXPECT_EQ(a.us, simulate(p, *a.placement).us);
    const Ranks ranks(p);
    for (ListRule rule : {ListRule::heft, ListRule::peft, ListRule::etf, ListRule::min_min, ListRule::max_min,
                          ListRule::cpop, ListRule::chains})
      EXPECT_LE(a.us, simulate(p, list_schedule(p, ranks, rule)).us);
  }
}

Problem two_devices(int64_t memory_a, int64_t memory_b) {
  Problem p;
  p.devices = {{"a", memory_a}, {"b", memory_b}};
  p.links.assign(4, {1, 0});
  for (int g = 0; g < 2; ++g) {
    p.groups.push_back({"g" + std::to_string(g), {10, 1}, {g}, 0, {}, {}});
    p.weights.push_back(100);
  }
  return p;
}

TEST(Place, ADeviceThatIsTooSmallIsNeverChosen) {
  const Placed found = place(two_devices(1000, 99));
  ASSERT_TRUE(found.placement);
  EXPECT_EQ(found.placement->device, (std::vector<int>{0, 0}));
}

TEST(Place, SaysWhyNothingFits) {
  const Problem p = two_devices(100, 99);
  const Placed found = place(p);
  ASSERT_FALSE(found.placement);
  EXPECT_EQ(
      describe(p, found.failure),
      "group 'g1' fits on no device: 'a' has 0 free bytes, but it needs 100; 'b' has 99 free bytes, but it needs 100");
  Problem none = two_devices(1000, 1000);
  none.groups[1].us = {kUnsupported, kUnsupported};
  EXPECT_EQ(describe(none, place(none).failure),
            "group 'g1' fits on no device: 'a' does not support it; 'b' does not support it");
}

/// Four independent groups, which take `a` on the first device and `b` on the second one.
Problem side_by_side(double a, double b) {
  Problem p;
  p.devices = {{"a", kEnough}, {"b", kEnough}};
  p.links.assign(4, {});
  for (int g = 0; g < 4; ++g) p.groups.push_back({"g" + std::to_string(g), {a, b}, {}, 0, {}, {}});
  return p;
}

TEST(Refine, StaysWhereTheGainIsWithinThresholdOrNoise) {
  const Placement now{{0, 0, 1, 1}, {0, 1, 2, 3}};
  EXPECT_FALSE(refine(side_by_side(100, 101), now).moved);
  const Problem slowed = side_by_side(100, 210);  // 420 us as placed, 300 with three groups on the first device
  EXPECT_TRUE(refine(slowed, now).moved);
  EXPECT_EQ(refine(slowed, now).us, 300);
  RefineOptions noisy;
  // One of the slow groups moves. The groups that stay have 410/620 of the noise, so the gain must exceed 1.66 times
  // the noise.
  noisy.noise_us = 73;
  EXPECT_FALSE(refine(slowed, now, noisy).moved);
  noisy.noise_us = 71;
  EXPECT_TRUE(refine(slowed, now, noisy).moved);
  RefineOptions patient;
  patient.threshold = 0.3;
  EXPECT_FALSE(refine(slowed, now, patient).moved);
}

TEST(Refine, DevicesExchangeTheirGroupsWhereTheLargerIdlesLonger) {
  Problem p = side_by_side(100, 10);
  p.groups[3].us = {100, kUnsupported};
  const Placement now{{0, 0, 0, 0}, {0, 1, 2, 3}};
  const Refined refined = refine(p, now);
  EXPECT_EQ(refined.us, 100);
  EXPECT_EQ(refined.placement.device, (std::vector<int>{1, 1, 1, 0}));
}

TEST(NextRound, EndsWithTheLeastMeasuredNotTheLast) {
  const Problem p = side_by_side(100, 100);
  const Placement all{{0, 0, 0, 0}, {0, 1, 2, 3}}, half{{0, 0, 1, 1}, {0, 1, 2, 3}};
  const NextRound first = next_round(p, {{all, 400, 400, 0}});
  EXPECT_FALSE(first.stop);
  EXPECT_EQ(first.predicted_us, 200);
  const NextRound end = next_round(p, {{half, 200, 205, 0}, {all, 400, 400, 0}});
  EXPECT_TRUE(end.stop);
  EXPECT_EQ(end.placement.device, half.device);
  EXPECT_EQ(end.predicted_us, 205);
}

/// Other load makes one device three times slower than predicted; each round measures the true times.
TEST(NextRound, FindsTheBestPlacementBehindABusyNeighbour) {
  const Problem truth = side_by_side(100, 300);
  Problem known = side_by_side(100, 100);
  std::vector<Round> rounds;
  Placement now = *place(known).placement;
  for (int i = 0; i < 4; ++i) {
    const double measured = simulate(truth, now).us;
    rounds.push_back({now, simulate(known, now).us, measured, 1});
    for (size_t g = 0; g < known.groups.size(); ++g)
      known.groups[g].us[static_cast<size_t>(now.device[g])] = truth.groups[g].us[static_cast<size_t>(now.device[g])];
    const NextRound next = next_round(known, rounds);
    now = next.placement;
    if (next.stop) break;
  }
  EXPECT_LE(simulate(truth, now).us, 1.1 * place(truth).us);
}

}  // namespace
}  // namespace gcg::place
