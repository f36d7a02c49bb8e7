#include "compiler/plan/plan_remarks.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/pass.h"
#include "compiler/plan/make_plan.h"

namespace gcg::test {
namespace {

std::vector<std::string> remarks_on(const char* text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  run_passes(graph, model_passes(), nullptr, {});
  return plan_remarks(make_plan(graph, DeviceClass::cuda));
}

TEST(PlanRemarks, AnExtentThatDependsOnDataIsSaid) {
  const std::vector<std::string> remarks = remarks_on("graph g(%x: f32[4,8]) -> (%y) {\n  %y = NonZero(%x)\n}");
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].find("an extent of what 'y' gives depends on data ('"), 0u) << remarks[0];
  EXPECT_TRUE(remarks_on("graph g(%x: f32[4,8]) -> (%y) {\n  %y = Exp(%x)\n}").empty());
}

}  // namespace
}  // namespace gcg::test
