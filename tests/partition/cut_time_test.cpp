#include <gtest/gtest.h>

#include <cstdio>

#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/partition/cpu_time.h"
#include "tests/partition/cut_text.h"
#include "tests/partition/run_assembly.h"

namespace gcg::test {
namespace {

/// Layers of a product with a residual edge and two branches beside each other, ten nodes each.
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
    // Twice as much, and what a busy machine adds; four times would be the square.
    if (n == 20'000 || n == 200'000) {
      EXPECT_LE(to_cut, 3 * before[0] + 50);
      EXPECT_LE(to_split, 3 * before[1] + 50);
    }
    before[0] = to_cut;
    before[1] = to_split;
  }
}

}  // namespace
}  // namespace gcg::test
