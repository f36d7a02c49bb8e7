// Imports only the part of a model that computes chosen values.
#include "compiler/ops/op_def.h"
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

using Names = std::vector<std::string>;

const std::string kX = float_value("input", "x", kDim2), kZ = float_value("input", "z", "dim { dim_param: 'n' }");
const std::string kWeight = "initializer { name: 'w' data_type: 1 dims: 2 float_data: 1 float_data: 2 } ";

/// a = -x, b = a + w, c = exp(b); d = |z|; u comes from an unknown operator; y = c + c.
onnx::ModelProto model() {
  return graph_model(kX + kZ + kWeight + node("Neg", "x", "a") + node("Add", "a w", "b") + node("Exp", "b", "c") +
                     node("Abs", "z", "d") + node("Frobnicate", "z", "u") + node("Add", "c c", "y") +
                     "output { name: 'y' }");
}

Graph imported(const onnx::ModelProto& m, const Names& outputs) {
  const std::string bytes = m.SerializeAsString();
  return import_onnx(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), {}, {}, outputs).graph;
}

Names names(const Graph& graph, const std::vector<ValueId>& values) {
  Names out;
  for (ValueId v : values) out.push_back(graph.value(v).name);
  return out;
}

Names ops(const Graph& graph) {
  Names out;
  for (NodeId id : graph.order()) out.push_back(graph.node(id).op->name);
  return out;
}

std::string refusal(const Names& outputs) {
  try {
    imported(model(), outputs);
  } catch (const CompileError& error) {
    return error.what();
  }
  return {};
}

TEST(ChosenOutputs, WhatTheyNeedStays) {
  const Graph one = imported(model(), {"b"});
  EXPECT_EQ(ops(one), (Names{"Neg", "Add"}));
  EXPECT_EQ(names(one, one.inputs), Names{"x"});
  EXPECT_EQ(names(one, one.outputs), Names{"b"});
  const Graph two = imported(model(), {"d", "a"});
  EXPECT_EQ(ops(two), (Names{"Neg", "Abs"}));
  EXPECT_EQ(names(two, two.inputs), (Names{"x", "z"}));
  EXPECT_EQ(names(two, two.outputs), (Names{"d", "a"})) << "in the order asked for";
}

TEST(ChosenOutputs, BodiesNeedWhatTheyRead) {
  const std::string body = "g { name: 'b' node { op_type: 'Abs' input: 'a' output: 't' } output { name: 't' } }";
  const auto m = graph_model(kX + "input { name: 'c' type { tensor_type { elem_type: 9 shape { } } } } " +
                             node("Neg", "x", "a") + node("Exp", "x", "unused") +
                             node("If", "c", "y",
                                  "attribute { name: 'then_branch' type: GRAPH " + body +
                                      " } attribute { name: 'else_branch' type: GRAPH " + body + " }") +
                             node("Neg", "y", "end") + "output { name: 'end' }");
  EXPECT_EQ(ops(imported(m, {"y"})), (Names{"Neg", "If"}));
}

TEST(ChosenOutputs, RefusedNames) {
  EXPECT_EQ(refusal({"bb"}), "the model has no value 'bb' that could be an output; the nearest: 'b', 'a', 'c'");
  EXPECT_EQ(refusal({"a", "a"}), "value 'a' is listed as an output twice");
  EXPECT_NE(refusal({}).find("Frobnicate"), std::string::npos) << "the whole model";
  EXPECT_NE(refusal({"u"}).find("Frobnicate"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
