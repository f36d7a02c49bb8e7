#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "compiler/fusion/fuse.h"
#include "compiler/gir/gir.h"
#include "compiler/place/place.h"
#include "compiler/support/error.h"
#include "tests/partition/cpu_time.h"
#include "tests/partition/cut_text.h"
#include "tests/partition/run_assembly.h"

namespace gcg::test {
namespace {

/// Layers of ten nodes: a product with a residual edge and two parallel branches.
Graph layers(int nodes) {
  std::string text = "graph layers(%x: f32[n,64]) -> (%y) {\n  constant %w: f32[64,64] = fill(0.01)\n", last = "x";
  const auto node = [&](const std::string& name, const std::string& call) {
    text += concat("  %", name, ": f32[n,64] = ", call, "\n");
  };
  for (int i = 0; i + 10 <= nodes; i += 10) {
    const std::string l = concat("l", i);
    node(l + "a", concat("MatMul(%", last, ", %w)"));
    node(l + "b", concat("Softplus(%", l, "a)"));
    node(l + "c", concat("MatMul(%", l, "b, %w)"));
    node(l + "d", concat("MatMul(%", last, ", %w)"));
    node(l + "e", concat("Tanh(%", l, "d)"));
    node(l + "f", concat("Add(%", l, "c, %", l, "e)"));
    node(l + "g", concat("Softmax(%", l, "f)"));
    node(l + "h", concat("MatMul(%", l, "g, %w)"));
    node(l + "i", concat("Sigmoid(%", l, "h)"));
    last = l + "j";
    node(last, concat("Add(%", l, "i, %", l == "l0" ? "x" : concat("l", i - 10, "j"), ")"));
  }
  node("y", concat("Identity(%", last, ")"));
  return parse_graph(text + "}\n");
}

TEST(CutTime, CutAndSplitAreNearLinear) {
  const Fleet fleet = parse_test_fleet("acc:0 -Softplus; acc:1 -Softplus; cpu:0; cpu:1");
  double before[2] = {0, 0};
  for (int n : {10'000, 20'000, 100'000, 200'000}) {
    const Graph graph = layers(n);
    Cut cut;
    Assembly assembly;
    const double to_cut = cpu_milliseconds([&] { cut = cut_graph(graph, fleet); }),
                 to_split = cpu_milliseconds([&] { assembly = split(graph, cut, {}); }, 1);
    std::printf("%d nodes: cut %.0f ms into %zu groups, split %.0f ms into %zu parts, %zu calls\n", n, to_cut,
                cut.groups.size(), to_split, assembly.parts.size(), assembly.calls.size());
    // The time may double, plus a margin for a busy machine; quadratic time would grow by a factor of four.
    if (n == 20'000 || n == 200'000) {
      EXPECT_LE(to_cut, 3 * before[0] + 50);
      EXPECT_LE(to_split, 3 * before[1] + 50);
    }
    before[0] = to_cut;
    before[1] = to_split;
  }
}

/// Fusion follows the residual edges through all layers when it searches for epilogues of products.
TEST(CutTime, TenThousandNodesAreFusedInASecond) {
  const Graph graph = layers(10'000);
  const double to_fuse = cpu_milliseconds([&] { fuse(graph); });
  std::printf("10,000 nodes: fused in %.0f ms\n", to_fuse);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(to_fuse, 1'000);
#endif
}

/// A placement problem with the groups of a cut, whose times follow from their nodes. Each device is slightly slower
/// than the previous one.
place::Problem problem_of(const Graph& graph, const Cut& cut, int devices) {
  place::Problem p;
  for (int d = 0; d < devices; ++d) p.devices.push_back({concat("d", d), place::kEnough});
  p.links.assign(static_cast<size_t>(devices) * static_cast<size_t>(devices), {1e4, 2});
  std::map<NodeId, int> group_of;
  std::map<ValueId, int> numbers;
  for (const Group& g : cut.groups) {
    const int number = p.group_count();
    place::Group group;
    group.name = g.name;
    group.us.assign(static_cast<size_t>(devices), place::kUnsupported);
    for (int d = 0; d < devices; ++d)
      if (std::find(g.support.begin(), g.support.end(), d % 4) != g.support.end())
        group.us[static_cast<size_t>(d)] = static_cast<double>(g.nodes.size()) * (10 + d % 7);
    p.groups.push_back(std::move(group));
    for (const NodeId n : g.nodes) group_of[n] = number;
  }
  for (const auto& [n, reader] : group_of)
    for (const ValueId v : graph.node(n).inputs) {
      const auto maker = v.valid() ? group_of.find(graph.value(v).producer) : group_of.end();
      if (maker == group_of.end() || maker->second == reader) continue;
      const auto [at, added] = numbers.emplace(v, static_cast<int>(p.values.size()));
      if (added) {
        p.values.push_back({4 * 64 * 64, maker->second, place::kAnywhere, {}, false, place::kAnywhere});
        p.groups[static_cast<size_t>(maker->second)].outputs.push_back(at->second);
      }
      std::vector<int>& readers = p.values[static_cast<size_t>(at->second)].readers;
      if (std::find(readers.begin(), readers.end(), reader) != readers.end()) continue;
      readers.push_back(reader);
      p.groups[static_cast<size_t>(reader)].inputs.push_back(at->second);
    }
  return p;
}

TEST(CutTime, CutAndPlaceWithinTheirBars) {
  const Fleet fleet = parse_test_fleet("acc:0 -Softplus; acc:1 -Softplus; cpu:0; cpu:1");
  struct Case {
    int nodes, devices;
    double bar;  // milliseconds
  };
  for (const Case& c : {Case{10'000, 4, 300}, Case{100'000, 4, 3'000}, Case{10'000, 1'000, 10'000}}) {
    const Graph graph = layers(c.nodes);
    Cut cut;
    const double to_cut = cpu_milliseconds([&] { cut = cut_graph(graph, fleet); });
    const place::Problem problem = problem_of(graph, cut, c.devices);
    place::Placed found;
    const double to_place = cpu_milliseconds([&] { found = place::place(problem); }, c.bar < 1'000 ? 3 : 1);
    ASSERT_TRUE(found.placement.has_value());
    std::printf("%d nodes, %zu groups, %d devices: cut %.0f ms, place %.0f ms (by %s)\n", c.nodes, cut.groups.size(),
                c.devices, to_cut, to_place, found.by.c_str());
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LE(to_cut + to_place, 3 * c.bar);  // a margin for a busy or an older machine
#endif
  }
}

}  // namespace
}  // namespace gcg::test
