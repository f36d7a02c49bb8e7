#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>

#include "compiler/gir/gir.h"
#include "compiler/partition/by_chains.h"
#include "compiler/partition/by_support.h"
#include "compiler/partition/runs_on.h"
#include "compiler/support/error.h"
#include "tests/partition/cpu_time.h"
#include "tests/partition/cut_text.h"
#include "tests/partition/random_graph.h"
#include "tests/partition/run_assembly.h"

namespace gcg::test {
namespace {

Dag random_dag(std::mt19937& rng, int n, int reach) {
  std::vector<std::pair<int, int>> edges;
  for (int v = 1; v < n; ++v)
    for (auto k = rng() % 3; k-- > 0;)
      edges.emplace_back(v - 1 - static_cast<int>(rng() % static_cast<uint32_t>(std::min(v, reach))), v);
  return make_dag(n, edges);
}

std::vector<int> random_classes(std::mt19937& rng, int n, int count) {
  std::vector<int> classes;
  for (int v = 0; v < n; ++v) classes.push_back(static_cast<int>(rng() % static_cast<uint32_t>(count)));
  return classes;
}

void expect_sound_groups(const Dag& dag, const Groups& groups, const std::vector<int>& classes) {
  const std::vector<int> group = group_of(dag, groups);
  for (int v = 0; v < dag.size(); ++v)
    for (int u : dag.before[static_cast<size_t>(v)])
      ASSERT_LE(group[static_cast<size_t>(u)], group[static_cast<size_t>(v)]) << "the groups are not in order";
  for (const auto& g : groups)
    for (int v : g) ASSERT_EQ(classes[static_cast<size_t>(v)], classes[static_cast<size_t>(g.front())]);
}

/// Finds the smallest number of groups by trying every choice of the next class.
int fewest_by_force(const Dag& dag, const std::vector<int>& classes, int count) {
  const auto closure = [&](uint32_t done, int c) {
    for (int v = 0; v < dag.size(); ++v) {
      const auto& before = dag.before[static_cast<size_t>(v)];
      if (classes[static_cast<size_t>(v)] == c &&
          std::all_of(before.begin(), before.end(), [&](int u) { return (done >> u & 1) != 0; }))
        done |= 1U << v;
    }
    return done;
  };
  std::set<uint32_t> at = {0};
  for (int groups = 0;; ++groups) {
    if (at.count((1U << dag.size()) - 1) != 0) return groups;
    std::set<uint32_t> next;
    for (uint32_t done : at)
      for (int c = 0; c < count; ++c) next.insert(closure(done, c));
    at = std::move(next);
  }
}

TEST(CutRandom, TwoClassesGiveTheFewestGroups) {
  std::mt19937 rng(1);
  double ratio = 0;
  constexpr int kGraphs = 20'000;
  for (int i = 0; i < kGraphs; ++i) {
    const int n = 2 + static_cast<int>(rng() % 11);
    const Dag dag = random_dag(rng, n, n);
    const std::vector<int> classes = random_classes(rng, n, 2);
    const Groups groups = by_support(dag, classes);
    expect_sound_groups(dag, groups, classes);
    const int fewest = fewest_by_force(dag, classes, 2);
    EXPECT_EQ(static_cast<int>(by_support(dag, classes, true).size()), fewest);
    EXPECT_LE(groups.size(), runs_of(classes).size());
    ratio += static_cast<double>(groups.size()) / fewest;
    if (::testing::Test::HasFailure()) break;
  }
  std::printf("two classes: %.4f times the fewest groups on average\n", ratio / kGraphs);
  EXPECT_LE(ratio / kGraphs, 1.05);
}

TEST(CutRandom, ManyClassesComeNear) {
  std::mt19937 rng(2);
  for (int count : {3, 4}) {
    double ratio = 0, thorough = 0;
    constexpr int kGraphs = 3'000;
    for (int i = 0; i < kGraphs; ++i) {
      const int n = 4 + static_cast<int>(rng() % 11);
      const Dag dag = random_dag(rng, n, n);
      const std::vector<int> classes = random_classes(rng, n, count);
      const Groups groups = by_support(dag, classes);
      expect_sound_groups(dag, groups, classes);
      EXPECT_LE(groups.size(), runs_of(classes).size());
      const int fewest = fewest_by_force(dag, classes, count);
      ratio += static_cast<double>(groups.size()) / fewest;
      thorough += static_cast<double>(by_support(dag, classes, true).size()) / fewest;
    }
    std::printf("%d classes: support %.4f, fewest %.4f times the fewest groups on average\n", count, ratio / kGraphs,
                thorough / kGraphs);
    EXPECT_LE(ratio / kGraphs, 1.05);
    EXPECT_LE(thorough, ratio);
  }
}

/// Computes the smallest number of paths from the size of a matching, which is found one node at a time.
size_t fewest_paths(const Dag& dag) {
  std::vector<int> previous(static_cast<size_t>(dag.size()), -1);
  std::vector<bool> seen;
  const auto augment = [&](const auto& self, int v) -> bool {
    for (int w : dag.after[static_cast<size_t>(v)]) {
      if (seen[static_cast<size_t>(w)]) continue;
      seen[static_cast<size_t>(w)] = true;
      if (previous[static_cast<size_t>(w)] >= 0 && !self(self, previous[static_cast<size_t>(w)])) continue;
      previous[static_cast<size_t>(w)] = v;
      return true;
    }
    return false;
  };
  size_t paths = static_cast<size_t>(dag.size());
  for (int v = 0; v < dag.size(); ++v) {
    seen.assign(previous.size(), false);
    paths -= augment(augment, v);
  }
  return paths;
}

TEST(CutRandom, ChainsAreTheFewest) {
  std::mt19937 rng(3);
  size_t divided = 0;
  for (int i = 0; i < 2'000; ++i) {
    const int n = 2 + static_cast<int>(rng() % 30);
    const Dag dag = random_dag(rng, n, 6);
    const std::vector<int> classes(static_cast<size_t>(n), 0);
    const Groups chains = by_chains(dag, by_support(dag, classes));
    expect_sound_groups(dag, chains, classes);
    EXPECT_GE(chains.size(), fewest_paths(dag));
    divided += chains.size() - fewest_paths(dag);
  }
  std::printf("2,000 graphs: %zu chains divided because they waited for each other\n", divided);
}

/// The number of groups of the simplest cut: consecutive nodes with the same devices form a group.
size_t runs_of(const Graph& graph, const Fleet& fleet) {
  size_t runs = 0;
  std::vector<int> before;
  for (NodeId id : graph.order()) {
    const std::vector<int> devices = support_of(fleet, graph, graph.node(id));
    runs += devices != before;
    before = devices;
  }
  return runs;
}

TEST(CutRandom, PartsOfRandomGraphsGiveTheSameBits) {
  const Fleet fleet =
      parse_test_fleet("a -Tanh -If -Sub; b -Softmax -MatMul -Loop; c -Add -Max -NonZero -Reshape; cpu");
  const char* rules[] = {"support", "fewest", "support,chains", "chains,shared", "support,chains,stages", "shared"};
  size_t groups = 0, parts = 0, calls = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Graph graph = parse_graph(random_graph(seed, 16 + static_cast<int>(seed % 9)));
    std::vector<ValueId> kept;
    for (int64_t v = seed % 4; seed % 4 != 0 && v < graph.value_count(); v += 7)
      if (graph.value(ValueId(v)).producer.valid() && !graph.is_output(ValueId(v))) kept.emplace_back(v);
    graph.outputs.insert(graph.outputs.end(), kept.begin(), kept.end());
    CutOptions options;
    options.rules = parse_cut_rules(rules[seed % 6]);
    const Cut cut = cut_graph(graph, fleet, options);
    groups += cut.groups.size();
    for (const Group& g : cut.groups) EXPECT_FALSE(g.support.empty());
    if (seed % 6 < 2) {
      EXPECT_LE(cut.groups.size(), runs_of(graph, fleet));
    }
    const Assembly assembly = split(graph, cut, kept);
    parts += assembly.parts.size();
    calls += assembly.calls.size();
    expect_sound(assembly);
    expect_same_results(graph, assembly, 3);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << print_graph(graph) << print_cut(graph, fleet, cut);
      break;
    }
  }
  std::printf("1,000 graphs: %zu groups, %zu calls of %zu parts\n", groups, calls, parts);
}

/// A graph of n nodes: blocks of parallel branches, residual edges, and a value that all nodes read.
Dag network(int n) {
  std::vector<std::pair<int, int>> edges;
  for (int v = 1; v < n; ++v) {
    edges.emplace_back(v - 1 - (v % 8 > 4 ? v % 8 - 4 : 0) % v, v);
    if (v > 9 && v % 8 == 0) edges.emplace_back(v - 8, v);
    if (v % 16 == 7) edges.emplace_back(0, v);
  }
  return make_dag(n, edges);
}

double time_of(int n) {
  const Dag dag = network(n);
  std::mt19937 rng(5);
  const std::vector<int> classes = random_classes(rng, n, 4);
  return cpu_milliseconds([&] {
    const Groups groups = by_chains(dag, by_support(dag, classes, true));
    EXPECT_GT(groups.size(), 10U);
  });
}

TEST(CutRandom, TwiceTheNodesTakeTwiceTheTime) {
  for (int n : {10'000, 100'000}) {
    const double one = time_of(n), two = time_of(2 * n);
    std::printf("rules on %d nodes %.1f ms, on %d %.1f ms\n", n, one, 2 * n, two);
    EXPECT_LE(two, 2.2 * one + 10);
  }
}

}  // namespace
}  // namespace gcg::test
