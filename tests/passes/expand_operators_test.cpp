// Compares the result of expand_operators with the same graph written by hand. tests/models compares each operator with
// onnxruntime.
#include "compiler/passes/expand_operators.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/gir/verify_graph.h"
#include "compiler/ops/infer.h"
#include "compiler/reference/interpreter.h"
#include "compiler/support/error.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

Graph expanded(const std::string& text) {
  Graph graph = parse_graph(text);
  EXPECT_TRUE(expand_operators(graph));
  verify_graph(graph);
  return graph;
}

/// Checks that the two graphs give the same results for ascending inputs.
void expect_same(const Graph& got, const std::string& by_hand) {
  const Graph want = parse_graph(by_hand);
  std::vector<Tensor> inputs;
  for (ValueId id : want.inputs) {
    Tensor t(want.value(id).dtype, to_extents(*want.value(id).shape));
    for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, static_cast<double>(i) / 4 - 1);
    inputs.push_back(std::move(t));
  }
  const std::vector<Tensor> a = interpret(got, inputs), b = interpret(want, inputs);
  ASSERT_EQ(a.size(), b.size());
  for (size_t o = 0; o < a.size(); ++o) {
    ASSERT_EQ(a[o].shape(), b[o].shape());
    for (int64_t i = 0; i < a[o].elements(); ++i) EXPECT_NEAR(a[o].at_double(i), b[o].at_double(i), 1e-5);
  }
}

TEST(ExpandOperators, WritesOthersUnderTheSameNames) {
  const Graph g = expanded("graph g(%x: f32[2,4], %b: f32[4]) -> (%y) {\n%y = com.microsoft.BiasGelu(%x, %b)\n}\n");
  EXPECT_EQ(op_counts(g), (Counts{{"Add", 1}, {"Gelu", 1}}));
  EXPECT_EQ(g.value(g.outputs[0]).name, "y");
  expect_same(g, "graph g(%x: f32[2,4], %b: f32[4]) -> (%y) {\n%s = Add(%x, %b)\n%y = Gelu(%s)\n}\n");
}

TEST(ExpandOperators, ExpandsExpansionsAndBodies) {
  const Graph g = expanded(R"(graph g(%c: bool[], %x: f32[2,3,4], %k: f32[4]) -> (%y) {
    %y = If(%c | %x, %k) graph then(%a: f32[2,3,4], %w: f32[4]) -> (%r) {
      %r = SimplifiedLayerNormalization(%a, %w) {axis = -1}
    } graph else(%a: f32[2,3,4], %w: f32[4]) -> (%r) {
      %r = com.microsoft.QuickGelu(%a) {alpha = 1.0}
    }
  })");
  EXPECT_EQ(op_counts(*g.node(g.order()[0]).bodies[0]), (Counts{{"RMSNormalization", 1}}));
  EXPECT_EQ(op_counts(*g.node(g.order()[0]).bodies[1]), (Counts{{"Swish", 1}}));
}

TEST(ExpandOperators, KeepsOutputsThatAreInputs) {
  const Graph g =
      expanded("graph g(%x: f32[2,4]) -> (%y) {\n%y = ai.onnx.ml.ZipMap(%x) {classlabels_int64s = [0,1,2,3]}\n}\n");
  expect_same(g, "graph g(%x: f32[2,4]) -> (%y) {\n%y = Identity(%x)\n}\n");
}

TEST(ExpandOperators, ProjectsTheGateOfASharedExpert) {
  const std::string inputs = "graph g(%x: f32[2,4], %y: f32[2,4], %g: f32[2,3], %w: f32[3,1]) -> (%z) {\n";
  const Graph g = expanded(inputs + "%z = com.microsoft.GatedAdd(%x, %y, %g, %w)\n}\n");
  expect_same(g, inputs + "%p = MatMul(%g, %w)\n%s = Sigmoid(%p)\n%m = Mul(%y, %s)\n%z = Add(%x, %m)\n}\n");
}

TEST(ExpandOperators, NamesTheNodeThatIsWrong) {
  const auto why = [](const std::string& line) {
    try {
      parse_graph(
          "graph g(%x: f32[2,4], %w: f32[5,3], %r: f32[2,5,16], %p: i64[3,2,5], %t: f32[32,8]) -> (%y) {\n%y = " +
          line + " @\"the node\"\n}\n");
    } catch (const CompileError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(why("com.microsoft.FusedMatMul(%x, %w)").find("FusedMatMul 'the node': MatMul: "), std::string::npos);
  EXPECT_NE(why("ai.onnx.ml.Normalizer(%x) {norm = \"L3\"}").find("Normalizer 'the node': norm is 'L3'"),
            std::string::npos);
  EXPECT_NE(why("ai.onnx.ml.TreeEnsembleRegressor(%x)").find("it has no trees"), std::string::npos);
  EXPECT_NE(why("com.microsoft.RotaryEmbedding(%r, %p, %t, %t)")
                .find("RotaryEmbedding 'the node': input 1 (position_ids) has rank 3"),
            std::string::npos);
}

TEST(ExpandOperators, LeavesOtherGraphsAlone) {
  check_rewrite("graph g(%x: f32[2,4]) -> (%y) {\n%y = Gelu(%x)\n}\n", expand_operators, false);
}

}  // namespace
}  // namespace gcg::test
