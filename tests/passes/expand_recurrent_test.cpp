#include "compiler/passes/expand_recurrent.h"

#include <gtest/gtest.h>

#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

struct Cell {
  const char* op;
  int gates;
};
const Cell kCells[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};

/// A recurrent node over X f32[steps,batch,3] with hidden size 2 and random weights; `inputs` follow X, W, R.
std::string graph_with(const Cell& cell, const std::string& steps, const std::string& batch, int directions,
                       const std::string& inputs, const std::string& attributes, const std::string& layout_shape = "") {
  const auto number = [](int n) { return std::to_string(n); };
  const std::string d = number(directions), h = number(cell.gates * 2);
  const std::string x = layout_shape.empty() ? "[" + steps + "," + batch + ",3]" : layout_shape;
  const bool lstm = cell.gates == 4;
  return "graph g(%x: f32" + x + ", %h0: f32[" + d + "," + batch + ",2], %c0: f32[" + d + "," + batch +
         ",2]) -> (%y, %h" + (lstm ? ", %c" : "") + ") {\n constant %W: f32[" + d + "," + h +
         ",3] = random(1)\n constant %R: f32[" + d + "," + h + ",2] = random(2)\n constant %B: f32[" + d + "," +
         number(cell.gates * 4) + "] = random(3)\n constant %P: f32[" + d +
         ",6] = random(4)\n constant %L: i32[3] = " + (steps == "1" ? "{1, 0, 1}" : "{2, 0, 4}") + "\n %y, %h" +
         (lstm ? ", %c" : "") + " = " + cell.op + "(%x, %W, %R" + inputs + ") {" + attributes + "} @\"cell\"\n}\n";
}

TEST(ExpandRecurrent, ALoopOverOneProductOfAllInputs) {
  for (const Cell& cell : kCells) {
    const Graph g = check_rewrite(graph_with(cell, "s", "b", 1, ", %B", "hidden_size = 2"), expand_recurrent, true,
                                  {{"s", 4}, {"b", 3}});
    std::map<std::string, int> counts = op_counts(g);
    EXPECT_EQ(counts["Loop"], 1) << cell.op;
    EXPECT_EQ(counts["MatMul"], 1) << cell.op;
    EXPECT_EQ(counts.count(cell.op), 0u);
  }
}

TEST(ExpandRecurrent, TheLastStateOfOneLayerStartsAnother) {
  check_rewrite(
      "graph g(%x: f32[s,b,3], %later: f32[t,b,3]) -> (%y) {\n constant %W: f32[1,8,3] = random(1)\n"
      " constant %R: f32[1,8,2] = random(2)\n %first, %h, %c = LSTM(%x, %W, %R) {hidden_size = 2}\n"
      " %y = LSTM(%later, %W, %R, _, _, %h, %c) {hidden_size = 2}\n}\n",
      expand_recurrent, true, {{"s", 4}, {"t", 3}, {"b", 3}});
}

TEST(ExpandRecurrent, OneStepNeedsNoLoop) {
  for (const Cell& cell : kCells) {
    const Graph g = check_rewrite(graph_with(cell, "1", "b", 2, ", %B, _, %h0", "direction = \"bidirectional\""),
                                  expand_recurrent, true, {{"b", 3}});
    EXPECT_EQ(op_counts(g).count("Loop"), 0u) << cell.op;
  }
}

TEST(ExpandRecurrent, DirectionsStatesAndSequenceLengths) {
  for (const Cell& cell : kCells)
    for (const char* direction : {"forward", "reverse", "bidirectional"})
      for (const char* inputs : {"", ", %B, %L", ", _, _, %h0", ", %B, %L, %h0"})
        for (const char* steps : {"4", "1"})
          check_rewrite(graph_with(cell, steps, "3", direction[0] == 'b' ? 2 : 1, inputs,
                                   std::string("direction = \"") + direction + "\""),
                        expand_recurrent, true);
}

TEST(ExpandRecurrent, VariantsOfTheCells) {
  const auto check = [](const Cell& cell, const std::string& inputs, const std::string& attributes) {
    check_rewrite(graph_with(cell, "4", "3", 1, inputs, attributes), expand_recurrent, true);
  };
  check(kCells[0], ", %B, _, %h0, %c0, %P", "clip = 0.5");
  check(kCells[0], ", %B, _, %h0, %c0", "input_forget = 1");
  check(kCells[1], ", %B", "linear_before_reset = 1");
  check(kCells[1], "", "linear_before_reset = 1");
  check(kCells[1], ", %B, %L, %h0", "linear_before_reset = 1, clip = 0.3");
  for (const char* f : {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus",
                        "Softsign", "Tanh", "ThresholdedRelu"})
    check(kCells[2], ", %B",
          std::string("activations = [\"") + f + "\"], activation_alpha = [0.3], activation_beta = [0.7]");
}

TEST(ExpandRecurrent, BatchFirstLayout) {
  for (const Cell& cell : kCells)
    check_rewrite(graph_with(cell, "4", "3", 1, ", %B", "layout = 1", "[3,4,3]"), expand_recurrent, true);
}

TEST(ExpandRecurrent, NodesInBodiesToo) {
  check_rewrite(R"(graph g(%x: f32[2,1,3], %c: bool[]) -> (%z) {
    %z = If(%c | %x)
      graph then(%a: ?) -> (%y) {
        constant %W: f32[1,2,3] = random(1)
        constant %R: f32[1,2,2] = random(2)
        %y = RNN(%a, %W, %R)
      }
      graph else(%a: ?) -> (%r) {
        constant %shape: i64[4] = {2, 1, 1, 3}
        constant %axes: i64[1] = {1}
        %u = Unsqueeze(%a, %axes)
        constant %to: i64[1] = {2}
        constant %from: i64[1] = {0}
        constant %last: i64[1] = {3}
        %r = Slice(%u, %from, %to, %last)
      }
  })",
                expand_recurrent, true);
}

TEST(ExpandRecurrent, OtherNodesStay) {
  check_rewrite("graph g(%x: f32[2]) -> (%y) {\n %y: f32[2] = Relu(%x)\n}\n", expand_recurrent, false);
}

}  // namespace
}  // namespace gcg::test
