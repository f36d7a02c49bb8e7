// Extents that a model names differently, although its operators require them to be equal, have one name in kernels.
#include "compiler/passes/unify_extents.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/plan/make_plan.h"

namespace gcg::test {
namespace {

Plan plan_of(const std::string& text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  EXPECT_TRUE(unify_extents(graph));
  return make_plan(graph, DeviceClass::cpu);
}

/// The number of axes of each kernel's only store.
std::vector<size_t> axes_of_stores(const Plan& plan) {
  std::vector<size_t> axes;
  for (const Kernel& kernel : plan.kernels) axes.push_back(std::get<LoopKernel>(kernel.body).stages[0].axes.size());
  return axes;
}

/// Both parts are copied in long rows: their common extents are those of the first input.
TEST(UnifyExtents, PartsOfAConcatHaveLongRows) {
  const Plan plan = plan_of(R"(graph g(%a: f32[n,c,h,w], %b: f32[m,d,i,j]) -> (%y) {
    %y = Concat(%a, %b) {axis = 1}
  })");
  EXPECT_EQ(axes_of_stores(plan), (std::vector<size_t>{2, 2}));
}

/// Chains of facts lead to the first name.
TEST(UnifyExtents, ChainsOfFacts) {
  const Plan plan = plan_of(R"(graph g(%a: f32[n,4], %b: f32[m,4], %c: f32[k,4]) -> (%y, %z) {
    %y = Add(%b, %c)
    %z = Mul(%y, %a)
  })");
  for (const Kernel& kernel : plan.kernels)
    for (const Operand& operand : kernel.operands) EXPECT_EQ(product(operand.shape).str(), "4*n");
}

}  // namespace
}  // namespace gcg::test
