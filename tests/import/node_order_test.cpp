// Nodes in any order: converters to float16 write models whose nodes are not sorted.
#include "compiler/ops/op_def.h"
#include "compiler/reference/interpreter.h"
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

const std::string kX = float_value("input", "x", kDim2), kY = "output { name: 'y' } ";

double first_element(const onnx::ModelProto& model, std::vector<Tensor> inputs) {
  return interpret(import_model(model).graph, std::move(inputs))[0].at_double(0);
}

TEST(ImportNodeOrder, ReadersMayStandBeforeWhatTheyRead) {
  const onnx::ModelProto model =
      graph_model(kX + node("Neg", "b", "y") + node("Exp", "x", "a") + node("Relu", "a", "b") + kY);
  EXPECT_EQ(first_element(model, {Tensor::from<float>(DType::f32, {2}, {0, 1})}), -1);
}

TEST(ImportNodeOrder, NodesInOrderStayAsTheyStand) {
  const Graph g =
      import_model(graph_model(kX + node("Neg", "x", "b") + node("Exp", "x", "a") + node("Add", "a b", "y") + kY))
          .graph;
  std::vector<std::string> names;
  for (NodeId id : g.order()) names.push_back(g.node(id).op->name);
  EXPECT_EQ(names, (std::vector<std::string>{"Neg", "Exp", "Add"}));
}

TEST(ImportNodeOrder, ABodyIsAReader) {
  const std::string branch_fields = "output { name: 'r' } } } ";
  const auto branch = [&](const std::string& name, const std::string& op) {
    return "attribute { name: '" + name + "' type: GRAPH g { name: 'b' " + node(op, "late", "r") + branch_fields;
  };
  const std::string condition = "input { name: 'c' type { tensor_type { elem_type: 9 shape {} } } } ";
  const onnx::ModelProto model =
      graph_model(kX + condition + node("If", "c", "y", branch("then_branch", "Neg") + branch("else_branch", "Abs")) +
                  node("Exp", "x", "late") + kY);
  Tensor taken(DType::boolean, {});
  taken.set_int(0, 1);
  EXPECT_EQ(first_element(model, {Tensor::from<float>(DType::f32, {2}, {0, 1}), taken}), -1);
}

TEST(ImportNodeOrder, WhatWaitsForACycleIsTold) {
  EXPECT_EQ(error_of(graph_model(kX + node("Relu", "b", "y", "name: 'reader'") + node("Relu", "b", "a", "name: 'n1'") +
                                 node("Relu", "a", "b", "name: 'n2'") + kY)),
            "node 'reader' (Relu) reads 'b', which node 'n2' cannot make: it needs the result of a cycle of nodes");
}

}  // namespace
}  // namespace gcg::test
