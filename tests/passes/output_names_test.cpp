// Outputs of a graph keep their names, which are part of the interface, whatever node replaces the output's node.
#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/passes/rewrite.h"

namespace gcg::test {
namespace {

TEST(OutputNames, AnOutputThatTakesTheirPlaceKeepsItsName) {
  Graph graph = parse_graph(
      "graph g(%x: f32[2]) -> (%b, %y) {\n"
      "  %a = Relu(%x)\n"
      "  %b = Neg(%a)\n"
      "  %y = Relu(%x)\n"
      "}\n");
  const ValueId a = graph.node(graph.order()[0]).outputs[0], y = graph.outputs[1];
  ASSERT_LT(a.index, y.index);
  Rewriter rewriter(graph, graph);
  EXPECT_TRUE(rewriter.replace(a, y));
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "b");
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "y");
}

}  // namespace
}  // namespace gcg::test
