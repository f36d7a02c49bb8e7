// keep_last_logits: the pass computes only the last row, and the row equals that of the whole result.
#include "compiler/passes/last_logits.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/reference/interpreter.h"

namespace gcg::test {
namespace {

Graph parsed(const std::string& text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  return graph;
}

Tensor numbers(std::vector<int64_t> shape) {
  Tensor out(DType::f32, std::move(shape));
  for (int64_t i = 0; i < out.elements(); ++i) out.set_double(i, double((i * 37 + 11) % 23) / 8 - 1);
  return out;
}

/// Checks the shape of the new logits, the number of rows that each product computes, and the values.
void expect_last_row(const std::string& text) {
  Graph graph = parsed(text);
  const Graph before = graph.clone();
  ASSERT_TRUE(keep_last_logits(graph));
  const Value& logits = graph.value(graph.outputs[0]);
  EXPECT_EQ(logits.name, "logits");
  ASSERT_EQ(logits.shape->size(), 3U);
  EXPECT_EQ((*logits.shape)[1], Dim(1));
  int products = 0;
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    if (n.op != &op_MatMul) continue;
    ++products;
    EXPECT_EQ((*graph.value(n.outputs[0]).shape)[1], Dim(1)) << n.name;
  }
  EXPECT_GT(products, 0);
  const std::vector<Tensor> inputs = {numbers({2, 5, 4})};
  const Tensor all = interpret(before, inputs)[0], last = interpret(graph, inputs)[0];
  const int64_t width = all.shape()[2];
  ASSERT_EQ(last.shape(), (std::vector<int64_t>{2, 1, width}));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < width; ++i)
      EXPECT_EQ(last.at_double(b * width + i), all.at_double((b * 5 + 4) * width + i));
}

TEST(LastLogits, AProductComputesOneRow) {
  expect_last_row(
      "graph g(%x: f32[b,s,4]) -> (%logits) {\n"
      "  constant %w: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}\n"
      "  %h = Relu(%x)\n"
      "  %logits = MatMul(%h, %w)\n"
      "}\n");
}

TEST(LastLogits, SoDoPointwiseOperatorsBehindIt) {
  expect_last_row(
      "graph g(%x: f32[b,s,4]) -> (%logits) {\n"
      "  constant %w: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}\n"
      "  constant %bias: f32[2] = {1, -1}\n"
      "  constant %cap: f32[] = {30}\n"
      "  %y = MatMul(%x, %w)\n"
      "  %z = Add(%bias, %y)\n"
      "  %d = Div(%z, %cap)\n"
      "  %t = Tanh(%d)\n"
      "  %m = Mul(%t, %cap)\n"
      "  %logits = Identity(%m)\n"
      "}\n");
}

TEST(LastLogits, OthersStay) {
  const char* const models[] = {
      // A normalisation over tokens needs all rows.
      "graph g(%x: f32[b,s,4]) -> (%logits) {\n"
      "  constant %w: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}\n"
      "  %y = MatMul(%x, %w)\n"
      "  %logits = Softmax(%y) {axis = 1}\n"
      "}\n",
      // Another output needs all rows.
      "graph g(%x: f32[b,s,4]) -> (%logits, %y) {\n"
      "  constant %w: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}\n"
      "  %y = MatMul(%x, %w)\n"
      "  %logits = Tanh(%y)\n"
      "}\n",
      // The second factor is different for each batch entry, and its extent t is not the number of tokens.
      "graph g(%x: f32[b,s,4], %w: f32[b,4,t]) -> (%logits) {\n"
      "  %logits = MatMul(%x, %w)\n"
      "}\n",
      "graph g(%x: f32[b,s,4]) -> (%logits) {\n"
      "  %logits = Relu(%x)\n"
      "}\n",
      "graph g(%x: f32[b,1,4]) -> (%logits) {\n"
      "  constant %w: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}\n"
      "  %logits = MatMul(%x, %w)\n"
      "}\n",
  };
  for (const char* text : models) {
    Graph graph = parsed(text);
    const std::string before = print_graph(graph);
    EXPECT_FALSE(keep_last_logits(graph)) << text;
    EXPECT_EQ(print_graph(graph), before);
  }
}

}  // namespace
}  // namespace gcg::test
