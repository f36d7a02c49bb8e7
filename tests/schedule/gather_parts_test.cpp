// Concatenation on a GPU: one kernel reads all parts. A CPU copies each part in its own kernel, except narrow columns.
#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/plan/make_plan.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/verify_plan.h"

namespace gcg::test {
namespace {

/// The kernels of the graph for that device.
size_t kernels_on(DeviceClass device, const char* text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  Plan plan = make_plan(graph, device);
  plan_memory(plan, {});
  verify_plan(plan);
  return plan.kernels.size();
}

TEST(GatherParts, StoredPartsAreReadByTheConcatenationsReader) {
  constexpr const char* kText = R"(graph g(%a: f32[2,3,8], %b: f32[2,5,8], %c: f32[2,1,8]) -> (%y) {
  %all = Concat(%a, %b, %c) {axis = 1}
  %y = Relu(%all)
})";
  EXPECT_EQ(kernels_on(DeviceClass::cpu, kText), 4U);
  EXPECT_EQ(kernels_on(DeviceClass::cuda, kText), 1U);
}

TEST(GatherParts, AConcatenationThatIsReadTwiceIsStored) {
  constexpr const char* kText = R"(graph g(%a: f32[2,3,8], %b: f32[2,5,8]) -> (%all, %y) {
  %all = Concat(%a, %b) {axis = 1}
  %y = Relu(%all)
})";
  EXPECT_EQ(kernels_on(DeviceClass::cpu, kText), 3U);
  EXPECT_EQ(kernels_on(DeviceClass::cuda, kText), 2U);
}

TEST(GatherParts, ACpuInterleavesNarrowColumns) {
  constexpr const char* kText = R"(graph g(%a: f32[n,1], %b: f32[n,3], %c: f32[n,1]) -> (%two, %y, %rows, %wide) {
  %two = Concat(%a, %c) {axis = 1}
  %root = Sqrt(%a)
  %four = Concat(%root, %b) {axis = -1}
  %y = Relu(%four)
  %rows = Concat(%a, %c) {axis = 0}
  %wide = Concat(%two, %b) {axis = 1}
})";
  EXPECT_EQ(kernels_on(DeviceClass::cpu, kText), 1U + 2U + 2U + 2U);
}

TEST(GatherParts, AProductWritesItsPartInPlace) {
  constexpr const char* kText = R"(graph g(%past: f32[4,8], %x: f32[1,16], %w: f32[16,8]) -> (%all) {
  %new = MatMul(%x, %w)
  %all = Concat(%past, %new) {axis = 0}
})";
  EXPECT_EQ(kernels_on(DeviceClass::cuda, kText), 2U);
}

}  // namespace
}  // namespace gcg::test
