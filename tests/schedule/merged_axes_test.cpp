// Axes that a kernel walks as one, also behind a dimension whose index depends on data.
#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/kernel/kernel_parts.h"
#include "compiler/ops/infer.h"
#include "compiler/plan/make_plan.h"

namespace gcg::test {
namespace {

/// The extents of the loops of the graph's only kernel.
std::vector<std::string> loops_of(const char* text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  const Plan plan = make_plan(graph, DeviceClass::cpu);
  EXPECT_EQ(plan.kernels.size(), 1U);
  std::vector<std::string> extents;
  for (const Axis& a : std::get<LoopKernel>(plan.kernels.begin()->body).stages.back().axes)
    extents.push_back(a.extent.str());
  return extents;
}

using Extents = std::vector<std::string>;

TEST(MergedAxes, OfRowsThatAreGathered) {
  EXPECT_EQ(loops_of(R"(graph g(%x: f32[64,492,8], %i: i64[150]) -> (%y) {
    %y = Gather(%x, %i) {axis = 0}
  })"),
            (Extents{"150", "3936"}));
  EXPECT_EQ(loops_of(R"(graph g(%x: f32[a,b,c], %i: i64[n]) -> (%y) {
    %y = Gather(%x, %i) {axis = 0}
  })"),
            (Extents{"n", "b*c"}));
}

TEST(MergedAxes, OnBothSidesOfAGatheredDimension) {
  EXPECT_EQ(loops_of(R"(graph g(%x: f32[2,3,5,7,11], %i: i64[4,6]) -> (%y) {
    %y = Gather(%x, %i) {axis = 2}
  })"),
            (Extents{"6", "24", "77"}));
}

TEST(MergedAxes, WhereTheIndicesDependOnThem) {
  EXPECT_EQ(loops_of(R"(graph g(%x: f32[2,3,5], %i: i64[4,3,5]) -> (%y) {
    %y = GatherElements(%x, %i) {axis = 0}
  })"),
            (Extents{"4", "15"}));
}

}  // namespace
}  // namespace gcg::test
