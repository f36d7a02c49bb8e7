// Indices that a graph computes from extents are not checked if they are known to be in range.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "compiler/gir/gir.h"
#include "compiler/kernel/index_limits.h"
#include "compiler/ops/infer.h"
#include "compiler/plan/make_plan.h"

namespace gcg::test {
namespace {

/// Frames of 8 elements with a stride of 4; the last frame begins before `behind`.
std::string frames(const std::string& behind) {
  return R"(graph g(%x: f32[n]) -> (%y) {
    constant %zero: i64[] = {0}
    constant %four: i64[] = {4}
    constant %seven: i64[] = {7}
    constant %inner: i64[1] = {1}
    %shape = Shape(%x)
    %samples = Gather(%shape, %zero)
    %last = Sub(%samples, %seven)
    %starts = Range(%zero, )" +
         behind + R"(, %four)
    constant %within: i64[8] = {0, 1, 2, 3, 4, 5, 6, 7}
    %column = Unsqueeze(%starts, %inner)
    %at = Add(%column, %within)
    %y = Gather(%x, %at)
  })";
}

std::set<std::string> checks_of(const std::string& text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  std::set<std::string> all;
  for (const Kernel& kernel : make_plan(graph, DeviceClass::cpu).kernels) all.merge(index_limits(kernel));
  return all;
}

TEST(KnownIndex, FramesOfASignalOfAnyLengthAreNotChecked) { EXPECT_TRUE(checks_of(frames("%last")).empty()); }

TEST(KnownIndex, FramesThatMayEndBehindItAre) { EXPECT_EQ(checks_of(frames("%samples")).size(), 1U); }

}  // namespace
}  // namespace gcg::test
