// The sums of a CumSum that is not along the last axis: they fill whole registers, whatever the number of columns.
// Two lines are added at once if the columns may be few, with a second array.
#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/plan/make_plan.h"

namespace gcg::test {
namespace {

/// The number of elements of the arrays that the kernel of this CumSum has on CPUs.
int64_t sums_of(const char* columns, int64_t n) {
  const std::string text = std::string("graph g(%x: f32[m,") + columns +
                           "]) -> (%y) {\n  constant %axis: i64[] = {0}\n  %y = CumSum(%x, %axis)\n}";
  Graph graph = parse_graph(text);
  infer_graph(graph);
  const Plan plan = make_plan(graph, DeviceClass::cpu);
  Dim elements = 0;
  for (const Kernel& kernel : plan.kernels)
    for (const Operand& o : kernel.operands)
      if (o.array) elements = elements + product(o.shape);
  return elements.evaluate({{"m", 7}, {"n", n}});
}

TEST(RunningSums, FillRegisters) {
  EXPECT_EQ(sums_of("5", 0), 2 * 16);
  EXPECT_EQ(sums_of("16", 0), 16);
  EXPECT_EQ(sums_of("100", 0), 2 * 112);
  EXPECT_EQ(sums_of("5000", 0), 2 * 1024);
  EXPECT_EQ(sums_of("n", 3), 2 * 16);
  EXPECT_EQ(sums_of("n", 17), 2 * 32);
  EXPECT_EQ(sums_of("n", 5000), 2 * 1024);
}

}  // namespace
}  // namespace gcg::test
