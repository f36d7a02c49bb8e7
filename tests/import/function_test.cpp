// Inlining of model-local functions.
#include "compiler/ops/op_def.h"
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

const std::string kX = float_value("input", "x", kDim2);
const std::string kDomain = "opset_import { domain: 'f' version: 1 } ";

std::string function(const std::string& name, const std::string& fields) {
  return "functions { domain: 'f' name: '" + name + "' opset_import { version: 17 } " + fields + " } ";
}

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (NodeId id : graph.order()) names.push_back(std::string(graph.node(id).op->name) + " " + graph.node(id).name);
  return names;
}

TEST(ImportFunction, NestedCallsBecomeNodesWithNamesOfTheirOwn) {
  const std::string functions =
      kDomain + function("Inner", "input: 'a' output: 'b' " + node("Relu", "a", "t") + node("Neg", "t", "b")) +
      function("Outer", "input: 'a' output: 'b' " + node("Inner", "a", "t", "name: 'in' domain: 'f'") +
                            node("Inner", "t", "b", "domain: 'f'"));
  const Graph g =
      import_model(
          graph_model(kX + node("Outer", "x", "y", "name: 'call' domain: 'f'") + "output { name: 'y' }", functions))
          .graph;
  EXPECT_EQ(node_names(g),
            (std::vector<std::string>{"Relu call/in/t", "Neg call/in/b", "Relu call/b/t", "Neg call/b/b"}));
  EXPECT_EQ(g.value(g.outputs[0]).name, "y");
}

TEST(ImportFunction, AttributesComeFromTheCall) {
  const std::string functions =
      kDomain +
      function("F", "input: 'a' output: 'b' attribute: 'alpha' " +
                        node("LeakyRelu", "a", "b", "attribute { name: 'alpha' ref_attr_name: 'alpha' type: FLOAT }"));
  const Graph g =
      import_model(graph_model(kX + node("F", "x", "y", "domain: 'f' attribute { name: 'alpha' type: FLOAT f: 0.5 }") +
                                   node("F", "x", "z", "domain: 'f'") + "output { name: 'y' } output { name: 'z' }",
                               functions))
          .graph;
  EXPECT_EQ(g.node(value_called(g, "y").producer).float_attribute("alpha", 9), 0.5);
  EXPECT_FALSE(g.node(value_called(g, "z").producer).has_attribute("alpha")) << "not given: the operator's own default";
}

TEST(ImportFunction, NewerFieldsAreRead) {  // attribute defaults (field 11) and overloads (fields 13 and 8)
  onnx::ModelProto model =
      graph_model(kX + node("F", "x", "y", "domain: 'f'") + "output { name: 'y' }",
                  kDomain + function("F", "input: 'a' output: 'b' " + node("Neg", "a", "b")) +
                      function("F", "input: 'a' output: 'b' " +
                                        node("LeakyRelu", "a", "b", "attribute { name: 'alpha' ref_attr_name: 'k' }")));
  onnx::AttributeProto alpha;
  alpha.set_name("k");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_f(0.25f);
  const auto add_field = [](google::protobuf::Message& message, int number, const std::string& bytes) {
    std::string text = message.SerializeAsString();
    text += static_cast<char>(number << 3 | 2);
    text += static_cast<char>(bytes.size());
    ASSERT_TRUE(message.ParseFromString(text + bytes));
  };
  add_field(*model.mutable_functions(1), 11, alpha.SerializeAsString());
  add_field(*model.mutable_functions(1), 13, "leaky");
  add_field(*model.mutable_graph()->mutable_node(0), 8, "leaky");
  const Graph g = import_model(model).graph;
  EXPECT_EQ(g.node(value_called(g, "y").producer).float_attribute("alpha", 9), 0.25);
}

TEST(ImportFunction, OmittedArgumentsAreOmittedInside) {
  const std::string functions =
      kDomain + function("F", "input: 'a' input: 'lo' input: 'hi' output: 'b' " + node("Clip", "a lo hi", "b"));
  const Graph g =
      import_model(graph_model(kX + "initializer { name: 'h' data_type: 1 float_data: 1 }" +
                                   node("F", "x _ h", "y", "domain: 'f'") + node("F", "x", "z", "domain: 'f'") +
                                   "output { name: 'y' } output { name: 'z' }",
                               functions))
          .graph;
  EXPECT_FALSE(g.node(value_called(g, "y").producer).inputs[1].valid());
  EXPECT_EQ(g.node(value_called(g, "y").producer).inputs.size(), 3u);
  EXPECT_EQ(g.node(value_called(g, "z").producer).inputs.size(), 1u);
}

TEST(ImportFunction, OutputsKeepTheModelsNames) {
  const std::string functions =
      kDomain + function("Through", "input: 'a' output: 'b' output: 'a' " + node("Neg", "a", "b")) +
      function("F", "input: 'y' output: 'r' " + node("Relu", "y", "out") + node("Neg", "out", "r"));
  const Graph g =
      import_model(graph_model(kX + node("Through", "x", "n same", "name: 't' domain: 'f'") +
                                   node("F", "n", "y", "name: 'c' domain: 'f'") + node("Relu", "y", "c/out") +
                                   "output { name: 'same' } output { name: 'y' } output { name: 'c/out' }",
                               functions))
          .graph;
  EXPECT_EQ(g.value(g.outputs[0]).name, "same");
  EXPECT_EQ(g.value(g.outputs[1]).name, "y");
  EXPECT_EQ(g.value(g.outputs[2]).name, "c/out") << "a name of the model, not of a function's inside";
}

TEST(ImportFunction, RecursionIsRefused) {
  const std::string functions = kDomain +
                                function("A", "input: 'a' output: 'b' " + node("B", "a", "b", "domain: 'f'")) +
                                function("B", "input: 'a' output: 'b' " + node("A", "a", "b", "domain: 'f'"));
  EXPECT_EQ(error_of(graph_model(kX + node("A", "x", "y", "domain: 'f'") + "output { name: 'y' }", functions)),
            "function 'f::A' calls itself, at node 'y/b/b': f::A -> f::B -> f::A");
}

TEST(ImportFunction, GrowthWithoutEndIsRefused) {  // 2^40 nodes from 41 functions
  std::string functions = kDomain + function("F0", "input: 'a' output: 'b' " + node("Relu", "a", "b"));
  for (int i = 1; i <= 40; ++i) {
    const std::string name = concat("F", i), previous = concat("F", i - 1);
    functions += function(name, "input: 'a' output: 'b' " + node(previous, "a", "t", "name: 'p' domain: 'f'") +
                                    node(previous, "t", "b", "name: 'q' domain: 'f'"));
  }
  EXPECT_EQ(error_of(graph_model(kX + node("F40", "x", "y", "domain: 'f'") + "output { name: 'y' }", functions)),
            "the model has more than 500000 nodes once its functions are inlined");
}

TEST(ImportFunction, UnsupportedNodesInsideAreNamedByTheirCall) {
  const std::string functions = kDomain + function("F", "input: 'a' output: 'b' " + node("Frobnicate", "a", "b"));
  const auto rows = unsupported_in(graph_model(kX + node("F", "x", "y", "name: 'one' domain: 'f'") +
                                                   node("F", "x", "z", "name: 'two' domain: 'f'") +
                                                   "output { name: 'y' } output { name: 'z' }",
                                               functions));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "one/b");
  EXPECT_EQ(rows[1].name, "two/b");
}

}  // namespace
}  // namespace gcg::test
