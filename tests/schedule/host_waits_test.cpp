#include "compiler/report/host_waits.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/pass.h"
#include "compiler/plan/make_plan.h"

namespace gcg::test {
namespace {

std::vector<HostWait> waits_of(const char* text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  run_passes(graph, model_passes(), nullptr, {});
  return host_waits(make_plan(graph, DeviceClass::cuda));
}

TEST(HostWaits, AreForExtentsThatDependOnData) {
  const std::vector<HostWait> waits = waits_of("graph g(%x: f32[4,8]) -> (%y) {\n  %y = NonZero(%x)\n}");
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].nodes, "y");
  EXPECT_FALSE(waits[0].symbol.empty());
  EXPECT_TRUE(waits_of("graph g(%x: f32[4,8]) -> (%y) {\n  %y = Exp(%x)\n}").empty());
}

}  // namespace
}  // namespace gcg::test
