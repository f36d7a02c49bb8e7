// Bodies of If, Loop and Scan: their captures, types and results.
#include "compiler/gir/verify_graph.h"
#include "compiler/ops/infer.h"
#include "compiler/reference/interpreter.h"
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

const std::string kX = float_value("input", "x", kDim2);
const std::string kBool = "input { name: 'c' type { tensor_type { elem_type: 9 shape {} } } } ";
std::string body(const std::string& name, const std::string& fields) {
  return "attribute { name: '" + name + "' type: GRAPH g { name: '" + name + "' " + fields + " } } ";
}

TEST(ImportControl, CapturesBecomeInputsOfEveryBody) {
  const Graph g =
      import_model(graph_model(kX + kBool + "initializer { name: 'w' dims: 2 data_type: 1 float_data: [1, 2] } " +
                               node("Neg", "x", "n") +
                               node("If", "c", "y",
                                    body("then_branch", node("Add", "x w", "t") + "output { name: 't' }") +
                                        body("else_branch", node("Relu", "n", "e") + "output { name: 'e' }")) +
                               "output { name: 'y' }"))
          .graph;
  const Node& node = g.node(value_called(g, "y").producer);
  ASSERT_EQ(node.captures, 2);
  EXPECT_EQ(g.value(node.inputs[1]).name, "x");
  EXPECT_EQ(g.value(node.inputs[2]).name, "n");
  for (const auto& branch : node.bodies) EXPECT_EQ(branch->inputs.size(), 2u);
  EXPECT_TRUE(value_called(*node.bodies[0], "w").is_constant()) << "constants are not captured but shared";
  EXPECT_EQ(str(*value_called(g, "y").shape), "[2]");
  verify_graph(g);
}

TEST(ImportControl, CapturesReachThroughSeveralBodies) {
  const std::string inner = node("If", "c", "i",
                                 body("then_branch", node("Neg", "x", "t") + "output { name: 't' }") +
                                     body("else_branch", node("Abs", "local", "e") + "output { name: 'e' }"));
  const Graph g =
      import_model(graph_model(kX + kBool +
                               node("If", "c", "y",
                                    body("then_branch", node("Relu", "x", "local") + inner + "output { name: 'i' }") +
                                        body("else_branch", node("Abs", "x", "e") + "output { name: 'e' }")) +
                               "output { name: 'y' }"))
          .graph;
  verify_graph(g);
  const auto run = [&](double condition) {
    Tensor x = Tensor::from<float>(DType::f32, {2}, {-1, 2}), c(DType::boolean, {});
    c.set_double(0, condition);
    return interpret(g, {x, c})[0];
  };
  EXPECT_EQ(run(1).at_double(0), 1);
  EXPECT_EQ(run(1).at_double(1), -2);
  EXPECT_EQ(run(0).at_double(0), 1);
  EXPECT_EQ(run(0).at_double(1), 2);
}

TEST(ImportControl, ALoopMayLeaveOutItsConditionAndItsTripCount) {
  const std::string body_inputs =
      "input { name: 'i' type { tensor_type { elem_type: 7 shape {} } } } "
      "input { name: 'go' type { tensor_type { elem_type: 9 shape {} } } } ";
  const auto loop = [&](const std::string& inputs, const std::string& scanned) {
    return graph_model(kX + "initializer { name: 'n' data_type: 7 int64_data: 3 } " +
                       node("Loop", inputs, "y",
                            body("body", body_inputs + node("Identity", "go", "again") + scanned +
                                             "output { name: 'again' } output { name: 's' }")) +
                       "output { name: 'y' }");
  };
  const std::string count = node("Cast", "i", "s", "attribute { name: 'to' type: INT i: 1 }"),
                    captured = node("Neg", "x", "s");
  for (const char* inputs : {"n", "n _"})
    for (const std::string& scanned : {count, captured}) {
      const Graph g = import_model(loop(inputs, scanned)).graph;
      const Node& node = g.node(value_called(g, "y").producer);
      ASSERT_EQ(static_cast<int>(node.inputs.size()) - node.captures, 2) << inputs;
      EXPECT_FALSE(node.inputs[1].valid());
      verify_graph(g);
      const Tensor y = interpret(g, {Tensor::from<float>(DType::f32, {2}, {-1, 2})})[0];
      EXPECT_EQ(y.shape()[0], 3);
      EXPECT_EQ(y.at_double(y.elements() - 1), scanned == count ? 2 : -2);
    }
}

TEST(ImportControl, WhatABranchAssumesBindsOnlyTheBranch) {
  Graph g =
      import_model(graph_model(float_value("input", "x", "dim { dim_param: 'n' } dim { dim_value: 2 }") + kBool +
                               "initializer { name: 'axes' dims: 1 data_type: 7 int64_data: 0 } " +
                               node("If", "c", "y",
                                    body("then_branch", node("Squeeze", "x axes", "t") + "output { name: 't' }") +
                                        body("else_branch", node("ReduceSum", "x axes", "e",
                                                                 "attribute { name: 'keepdims' type: INT i: 0 }") +
                                                                "output { name: 'e' }")) +
                               "output { name: 'y' }"))
          .graph;
  Graph& then = *g.node(value_called(g, "y").producer).bodies[0];
  for (NodeId id : then.order()) infer_node(then, id, g);  // as a pass does
  EXPECT_TRUE(g.constraints.empty());
  ASSERT_EQ(then.constraints.size(), 1u);
  EXPECT_EQ(then.constraints[0].a.str(), "n");
  Tensor c(DType::boolean, {}), three(DType::f32, {3, 2});
  EXPECT_EQ(interpret(g, {three, c})[0].shape(), (std::vector<int64_t>{2}));
  c.set_int(0, 1);
  EXPECT_THROW(interpret(g, {three, c}), CompileError);
}

TEST(ImportControl, BranchesThatDifferInExtentGiveASymbolInRankNone) {
  const auto type_of = [](const std::string& then_dims) {
    const std::string tensor = "initializer { name: 'k' data_type: 1 float_data: 1 " + then_dims + " } ";
    const Graph g =
        import_model(graph_model(kX + kBool +
                                 node("If", "c", "y",
                                      body("then_branch", tensor + "output { name: 'k' }") +
                                          body("else_branch", node("Abs", "x", "e") + "output { name: 'e' }")) +
                                 "output { name: 'y' }"))
            .graph;
    const Value& y = value_called(g, "y");
    return y.shape ? str(*y.shape) : std::string("unknown");
  };
  EXPECT_EQ(type_of("dims: 1"), "[if_extent]");
  EXPECT_EQ(type_of(""), "unknown");
}

/// x is doubled m times; the intermediate values are collected.
const std::string kLoop =
    "input { name: 'm' type { tensor_type { elem_type: 7 shape {} } } } " + kX +
    node("Loop", "m _ x", "last all",
         body("body", "input { name: 'i' } input { name: 'k' } input { name: 'v' } " + node("Identity", "k", "k_out") +
                          node("Add", "v v", "w") + node("Identity", "w", "s") +
                          "output { name: 'k_out' } output { name: 'w' } output { name: 's' }")) +
    "output { name: 'last' } output { name: 'all' }";

TEST(ImportControl, ALoopCarriesAndCollects) {
  const Graph g = import_model(graph_model(kLoop)).graph;
  EXPECT_EQ(str(*value_called(g, "last").shape), "[2]");
  EXPECT_EQ(value_called(g, "all").shape->size(), 2u);
  const std::vector<Tensor> out = interpret(g, {Tensor::scalar_i64(3), Tensor::from<float>(DType::f32, {2}, {1, 10})});
  EXPECT_EQ(out[0].at_double(1), 80);
  EXPECT_EQ(out[1].shape(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(out[1].at_double(4), 8);
  EXPECT_EQ(interpret(g, {Tensor::scalar_i64(0), Tensor(DType::f32, {2})})[1].shape(), (std::vector<int64_t>{0, 2}));
}

TEST(ImportControl, GrowingCarriedValuesGetAnExtentInTermsOfTheTripCount) {
  const Graph g =
      import_model(
          graph_model(
              "initializer { name: 'm' data_type: 7 int64_data: 5 } " + kX +
              node("Loop", "m _ x", "y",
                   body("body", "input { name: 'i' } input { name: 'k' } input { name: 'v' } " +
                                    node("Concat", "v x", "w", "attribute { name: 'axis' type: INT i: 0 }") +
                                    node("Identity", "k", "k_out") + "output { name: 'k_out' } output { name: 'w' }")) +
              "output { name: 'y' }"))
          .graph;
  EXPECT_EQ(str(*value_called(g, "y").shape), "[12]");
  EXPECT_EQ(interpret(g, {Tensor(DType::f32, {2})})[0].shape(), (std::vector<int64_t>{12}));
}

const std::string kScanBody =
    body("body", "input { name: 's' } input { name: 'e' } " + node("Add", "s e", "s_out") + node("Neg", "s_out", "o") +
                     "output { name: 's_out' } output { name: 'o' }");

TEST(ImportControl, ScanAlongAnyAxisInBothDirections) {
  const std::string attributes =
      "attribute { name: 'num_scan_inputs' type: INT i: 1 } attribute { name: 'scan_input_axes' type: INTS ints: -1 } "
      "attribute { name: 'scan_output_axes' type: INTS ints: -1 } "
      "attribute { name: 'scan_input_directions' type: INTS ints: 1 } "
      "attribute { name: 'scan_output_directions' type: INTS ints: 1 } ";
  const Graph g =
      import_model(graph_model(kX + float_value("input", "xs", "dim { dim_value: 2 } dim { dim_param: 't' }") +
                               node("Scan", "x xs", "last all", attributes + kScanBody) +
                               "output { name: 'last' } output { name: 'all' }"))
          .graph;
  EXPECT_EQ(str(*value_called(g, "all").shape), "[2,t]");
  const Tensor xs = Tensor::from<float>(DType::f32, {2, 3}, {1, 2, 3, 10, 20, 30});
  const std::vector<Tensor> out = interpret(g, {Tensor(DType::f32, {2}), xs});
  EXPECT_EQ(out[0].at_double(0), 6);
  const std::vector<double> expected = {-6, -5, -3, -60, -50, -30};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(out[1].at_double(i), expected[static_cast<size_t>(i)]) << i;
}

TEST(ImportControl, ScanOfOpset8HasABatchAxis) {
  const auto model =
      parse_model("ir_version: 4 opset_import { version: 8 } graph { name: 'g' " +
                  float_value("input", "x", "dim { dim_param: 'b' } dim { dim_value: 1 }") +
                  float_value("input", "xs", "dim { dim_param: 'b' } dim { dim_param: 't' } dim { dim_value: 1 }") +
                  node("Scan", "_ x xs", "last all",
                       "attribute { name: 'num_scan_inputs' type: INT i: 1 } "
                       "attribute { name: 'directions' type: INTS ints: 1 } " +
                           kScanBody) +
                  "output { name: 'last' } output { name: 'all' } }");
  const Graph g = import_model(model).graph;
  EXPECT_EQ(str(*value_called(g, "all").shape), "[b,t,1]");
  const Tensor xs = Tensor::from<float>(DType::f32, {2, 2, 1}, {1, 2, 10, 20});
  const std::vector<Tensor> out = interpret(g, {Tensor(DType::f32, {2, 1}), xs});
  EXPECT_EQ(out[0].at_double(1), 30);
  EXPECT_EQ(out[1].at_double(0), -2);
  EXPECT_EQ(out[1].at_double(1), -3);
}

TEST(ImportControl, UnsupportedNodesInBodiesAreRows) {
  const auto rows = unsupported_in(
      graph_model(kX + kBool +
                  node("If", "c", "y",
                       body("then_branch", node("Frobnicate", "x", "t") + "output { name: 't' }") +
                           body("else_branch", node("Softmax", "x", "e", "attribute { name: 'axis' type: INT i: 9 }") +
                                                   "output { name: 'e' }")) +
                  node("If", "c", "z", body("then_branch", node("Gizmo", "x", "u") + "output { name: 'u' }")) +
                  "output { name: 'y' } output { name: 'z' }"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "t");
  EXPECT_EQ(rows[1].why, "it has no attribute 'else_branch'");
  EXPECT_EQ(rows[2].name, "e");
}

}  // namespace
}  // namespace gcg::test
