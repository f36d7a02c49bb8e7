// The compiler's diagnostics about kernels that repeat work.
#include "compiler/report/repeated_work.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"

namespace gcg::test {
namespace {

Graph parsed(const std::string& text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  return graph;
}

constexpr const char* kSumsOfColumns = R"(graph g(%x: f32[64,1024], %z: f32[64,64]) -> (%y) {
  constant %axes: i64[1] = {1}
  %s = ReduceSum(%x, %axes) @"sums"
  %t = Transpose(%s) {perm = [1,0]} @"turned"
  %y = Add(%z, %t) @"added"
})";

ValueId named(const Graph& graph, const std::string& name) {
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (graph.value(ValueId(i)).name == name) return ValueId(i);
  return ValueId();
}

/// A fuser that ignores costs would compute two functions of one row again for each of a thousand rows.
TEST(RepeatedWork, IsSaidOfARowComputedForEveryElement) {
  const Graph graph = parsed(R"(graph g(%x: f32[1,512], %z: f32[1000,512]) -> (%y) {
    %a = Erf(%x) @"first"
    %b = Exp(%a) @"second"
    %y = Mul(%z, %b) @"third"
  })");
  Fusion fusion = fuse(graph);
  const ValueId row = named(graph, "b");
  ASSERT_TRUE(fusion.materialized[row]);
  std::erase_if(fusion.groups, [&](const FusionGroup& g) { return g.result == row; });
  fusion.materialized[row] = false;
  const std::vector<gcg::RepeatedWork> found = repeated_work(graph, fusion);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].nodes, (std::vector<std::string>{"first", "second", "third"}));
  EXPECT_GE(found[0].factor, kRepeatedWork);
}

TEST(RepeatedWork, IsNotDoneByTheFuser) {
  EXPECT_TRUE(repeated_work(parsed(kSumsOfColumns), DeviceClass::cpu).empty());
  EXPECT_TRUE(repeated_work(parsed(kSumsOfColumns), DeviceClass::cuda).empty());
}

TEST(RepeatedWork, AVectorIsComputedBeforeItIsExpanded) {
  const Graph graph = parsed(R"(graph g(%x: f32[1,512], %z: f32[1000,512]) -> (%y) {
    constant %shape: i64[2] = {1000, 512}
    %e = Erf(%x)
    %t = Expand(%e, %shape)
    %y = Mul(%z, %t)
  })");
  EXPECT_TRUE(repeated_work(graph, DeviceClass::cpu).empty());
  const Fusion fusion = fuse(graph);
  EXPECT_TRUE(fusion.materialized[named(graph, "e")]);
}

TEST(RepeatedWork, RowsOfANormAreNoRepetition) {
  EXPECT_TRUE(repeated_work(parsed(R"(graph g(%x: f32[n,64,h,w], %s: f32[64], %t: f32[64]) -> (%y) {
    %g = GroupNormalization(%x, %s, %t) {num_groups = 8}
    %e = Sigmoid(%g)
    %m = Mul(%g, %e)
    %y = Softmax(%m) {axis = 1}
  })"),
                            DeviceClass::cpu)
                  .empty());
}

}  // namespace
}  // namespace gcg::test
