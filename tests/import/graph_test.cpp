// The importer's checks of inputs, dimensions, names, order and versions.
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

std::string shape_of(const std::string& dims) {
  const Graph g = import_model(graph_model(float_value("input", "in.put", dims) + node("Identity", "in.put", "y") +
                                           "output { name: 'y' }"))
                      .graph;
  return str(*g.value(g.inputs[0]).shape);
}

TEST(ImportGraph, DimensionsBecomeSymbols) {
  EXPECT_EQ(shape_of("dim { dim_value: 3 } dim { dim_param: 'batch' }"), "[3,batch]");
  EXPECT_EQ(shape_of("dim {} dim { dim_param: '' }"), "[in_put_dim0,in_put_dim1]");
  EXPECT_EQ(shape_of("dim { dim_param: 'seq len' } dim { dim_param: '8 heads' }"), "[seq_len,d_8_heads]");
  EXPECT_EQ(shape_of("dim { dim_param: 'a b' } dim { dim_param: 'a_b' } dim { dim_param: 'a b' }"),
            "[a_b_1,a_b,a_b_1_1]");
  EXPECT_EQ(shape_of("dim { dim_value: -1 } dim { dim_value: -1 }"), "[in_put_dim0,in_put_dim1]");
}

TEST(ImportGraph, ExpressionsNeedNamesThatInputsGive) {
  EXPECT_EQ(shape_of("dim { dim_param: 'past' } dim { dim_param: 'past + 1' }"), "[past,past + 1]");
  EXPECT_EQ(shape_of("dim { dim_param: 'past + 1' } dim { dim_param: 'past' }"), "[past + 1,past]");
  EXPECT_EQ(shape_of("dim { dim_param: 'past + 1' }"), "[past___1]");
  EXPECT_EQ(shape_of("dim { dim_param: '-1' }"), "[_1]");
}

TEST(ImportGraph, InputsWithInitializersAreConstants) {
  const Graph g = import_model(graph_model(float_value("input", "x", kDim2) + float_value("input", "w", kDim2) +
                                           "initializer { name: 'w' dims: 2 data_type: 1 float_data: [1, 2] } " +
                                           node("Add", "x w", "y") + "output { name: 'y' }"))
                      .graph;
  ASSERT_EQ(g.inputs.size(), 1u);
  EXPECT_EQ(g.value(g.inputs[0]).name, "x");
  EXPECT_TRUE(value_called(g, "w").is_constant());
  EXPECT_EQ(str(*value_called(g, "y").shape), "[2]");
}

TEST(ImportGraph, OmittedInputsHaveNoId) {
  const Graph g =
      import_model(graph_model(float_value("input", "x", kDim2) +
                               "initializer { name: 'hi' data_type: 1 float_data: 1 } " + node("Clip", "x _ hi", "y") +
                               node("Clip", "x _ _", "z") + "output { name: 'y' } output { name: 'z' }"))
          .graph;
  const Node& clip = g.node(value_called(g, "y").producer);
  ASSERT_EQ(clip.inputs.size(), 3u);
  EXPECT_FALSE(clip.inputs[1].valid());
  EXPECT_EQ(g.node(value_called(g, "z").producer).inputs.size(), 1u);
}

TEST(ImportGraph, TheHashIsThatOfTheBytes) {
  const std::string bytes =
      graph_model(float_value("input", "x", kDim2) + node("Identity", "x", "y") + "output { name: 'y' }",
                  "producer_name: 'me' producer_version: '1'")
          .SerializeAsString();
  EXPECT_EQ(import_bytes(bytes).source_hash.size(), 32u);
  EXPECT_EQ(import_bytes(bytes).source_hash, import_bytes(bytes).source_hash);
  EXPECT_NE(import_bytes(bytes + std::string("\x32\x00", 2)).source_hash, import_bytes(bytes).source_hash);
  EXPECT_EQ(import_bytes(bytes).producer, "me 1");
}

TEST(ImportGraph, UnknownFieldsAreTolerated) {
  const std::string bytes =
      graph_model(float_value("input", "x", kDim2) + node("Identity", "x", "y") + "output { name: 'y' }")
          .SerializeAsString();
  EXPECT_NO_THROW(import_bytes(bytes + std::string("\xfa\x3f\x03new", 6)));  // field 1023, three bytes
}

TEST(ImportGraph, MalformedModelsAreRefusedInOneSentence) {
  const std::string x = float_value("input", "x", kDim2), y = "output { name: 'y' } ";
  const auto error = [&](const std::string& nodes) { return error_of(graph_model(x + nodes + y)); };
  EXPECT_EQ(error(node("Relu", "nothing", "y")), "node 'y' (Relu) reads 'nothing', which no node of the model makes");
  EXPECT_EQ(error(node("Relu", "b", "a", "name: 'n1'") + node("Relu", "a", "b", "name: 'n2'") + node("Relu", "a", "y")),
            "node 'n1' (Relu) reads 'b', which node 'n2' makes from its result: the graph has a cycle");
  EXPECT_EQ(error(node("Relu", "x", "y") + node("Relu", "x", "y")), "value 'y' has two producers; every value has one");
  EXPECT_EQ(error(node("Relu", "x", "x")), "value 'x' has two producers; every value has one");
  EXPECT_EQ(error(node("Relu", "x", "z")), "graph output 'y' reads 'y', which no node of the model makes");
  EXPECT_EQ(error_of(graph_model(x + x + node("Relu", "x", "y") + y)),
            "value 'x' has two producers; every value has one");
  EXPECT_EQ(error_of(graph_model(x + node("Relu", "x", "y") + y + y)), "graph output 'y' is listed twice");
  EXPECT_EQ(error_of(graph_model(x + node("Relu", "x", "y"))), "the model's graph has no outputs");
  EXPECT_EQ(error_of(graph_model(float_value("input", "x", "dim { dim_value: -2 }") + node("Relu", "x", "y") + y)),
            "graph input 'x' has the negative extent -2 in dimension 0; only -1 stands for an open "
            "one");
  EXPECT_EQ(error(node("Softmax", "x", "y",
                       "attribute { name: 'axis' i: 0 type: INT } attribute { name: 'axis' i: 0 type: INT }")),
            "node 'y' has attribute 'axis' twice");
}

TEST(ImportGraph, WhatIsNoModelIsSaidSo) {
  const auto error = [](const std::string& bytes) {
    try {
      import_bytes(bytes);
    } catch (const CompileError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error(""), "the model is empty");
  EXPECT_EQ(
      error("not a model at all, only text"),
      "the model is not an ONNX model: its bytes are truncated, damaged, nested more than 100 deep or something else");
  EXPECT_EQ(error(std::string("\x08\x08", 2)), "the model is not an ONNX model: it has no graph");
  onnx::ModelProto deep = graph_model("");
  onnx::GraphProto* body = deep.mutable_graph();
  for (int i = 0; i < 200; ++i) {
    onnx::NodeProto* branch = body->add_node();
    branch->set_op_type("If");
    body = branch->add_attribute()->mutable_g();
  }
  EXPECT_NE(error(deep.SerializeAsString()).find("nested more than 100 deep"), std::string::npos);
  const std::string whole =
      graph_model(float_value("input", "x", kDim2) + node("Relu", "x", "y") + "output { name: 'y' }")
          .SerializeAsString();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(error(whole.substr(0, size)), "") << "the first " << size << " of " << whole.size() << " bytes";
  EXPECT_EQ(error(whole), "");
}

TEST(ImportGraph, VersionsOutsideTheKnownAreRefused) {
  const auto with = [](const std::string& header) {
    return error_of(parse_model(header + " graph { name: 'g' " + float_value("input", "x", kDim2) +
                                node("Relu", "x", "y") + "output { name: 'y' } }"));
  };
  EXPECT_EQ(with("ir_version: 13 opset_import { version: 27 }"), "");
  EXPECT_EQ(with("ir_version: 3 opset_import { version: 7 domain: 'ai.onnx' }"), "");
  EXPECT_EQ(with("ir_version: 14 opset_import { version: 17 }"),
            "the model has IR version 14; versions up to 13 are read");
  EXPECT_EQ(with("ir_version: 8 opset_import { version: 0 }"),
            "the model imports opset 0 of ai.onnx; opsets 1 to 27 are read");
  EXPECT_EQ(with("ir_version: 8 opset_import { version: 28 }"),
            "the model imports opset 28 of ai.onnx; opsets 1 to 27 are read");
  EXPECT_EQ(with("ir_version: 8"), "the model imports no opset");
}

TEST(ImportGraph, AllThatIsUnsupportedIsReportedAtOnce) {
  const auto model = graph_model(
      float_value("input", "x", kDim2) + "input { name: 's' type { sequence_type {} } } " +
      node("Frobnicate", "x", "a", "name: 'one'") + node("Gizmo", "a", "b", "domain: 'com.acme'") +
      node("Relu", "b", "c") + node("Softmax", "x", "d", "name: 'axis 7' attribute { name: 'axis' i: 7 type: INT }") +
      node("Relu", "x x", "e", "name: 'two inputs'") +
      node("Cast", "x", "f", "name: 'sparse' attribute { name: 'to' type: SPARSE_TENSOR sparse_tensor {} }") +
      "output { name: 'c' } output { name: 'd' } output { name: 'e' } output { name: 'f' }");
  std::vector<UnsupportedNode> rows = unsupported_in(model);
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].name, "s");
  EXPECT_EQ(rows[0].why, "it is a sequence; give its number of elements by --dim NAME=LENGTH");
  EXPECT_EQ(rows[1].name, "one");
  EXPECT_EQ(rows[1].op, "Frobnicate");
  EXPECT_EQ(rows[1].version, 17);
  EXPECT_EQ(rows[1].why,
            "there is no operator or function of this name; --custom-op declares an operator of the application, "
            "--functions names libraries of functions");
  EXPECT_EQ(rows[2].name, "b");
  EXPECT_EQ(rows[2].domain, "com.acme");
  EXPECT_EQ(rows[2].version, 0);
  EXPECT_EQ(rows[3].why, "it has 2 inputs, but takes 1");
  EXPECT_EQ(rows[4].why, "attribute 'to': element type undefined (number 0) is not supported");
  EXPECT_EQ(rows[5].name, "axis 7");
  EXPECT_NE(rows[5].why.find("out of range"), std::string::npos) << rows[5].why;
  EXPECT_NE(error_of(model).find("\n  'b': Gizmo (domain com.acme): "), std::string::npos) << error_of(model);
}

TEST(ImportGraph, InternalOperatorsAreNotForModels) {
  const auto rows = unsupported_in(
      graph_model(float_value("input", "x", kDim2) + node("Fail", "x", "y", "domain: 'gart'") + "output { name: 'y' }",
                  "opset_import { domain: 'gart' version: 1 }"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].why,
            "there is no operator or function of this name; --custom-op declares an operator of the application, "
            "--functions names libraries of functions");
}

}  // namespace
}  // namespace gcg::test
