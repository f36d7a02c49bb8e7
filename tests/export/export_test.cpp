// Exports of graphs that were not imported, and graphs that the exporter refuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "compiler/export/export_onnx.h"
#include "compiler/gir/gir.h"
#include "compiler/ops/op_def.h"
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

onnx::ModelProto exported(const Graph& graph, const ExportOptions& options = {}) {
  const std::vector<uint8_t> bytes = export_onnx(graph, options);
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return model;
}

onnx::ModelProto exported(const std::string& text) { return exported(parse_graph(text)); }

std::string refusal(const std::string& text, const ExportOptions& options = {}) {
  try {
    export_onnx(parse_graph(text), options);
  } catch (const CompileError& error) {
    return error.what();
  }
  return {};
}

TEST(Export, SymbolsAreDimParams) {
  const auto model = exported("graph g(%x: f32[n,past + 1], %p: f32[past]) -> (%y) { %y = Relu(%x) }");
  const auto& shape = model.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "n");
  EXPECT_EQ(shape.dim(1).dim_param(), "past + 1");
  EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(1).dim_param(), "past + 1");
  EXPECT_EQ(model.opset_import(0).version(), 21);
  EXPECT_EQ(model.ir_version(), 10);
}

TEST(Export, TheOpsetHasWhatIsThere) {
  const auto opset = [](const std::string& text) { return exported(text).opset_import(0).version(); };
  EXPECT_EQ(opset("graph g(%x: bf16[2]) -> (%y) { %y = Exp(%x) }"), 22);
  EXPECT_EQ(opset("graph g(%x: f32[2]) -> (%y) { %y = Swish(%x) }"), 24);
  EXPECT_EQ(opset("graph g(%x: f32[2]) -> (%y) { %y = Cast(%x) {to = 26} }"), 25);
  EXPECT_EQ(
      opset(
          "graph g(%x: f32[2], %c: bool[]) -> (%y) { %y = If(%c | %x) graph then(%a: f32[2]) -> (%b) { %b = Swish(%a) }"
          " graph else(%d: f32[2]) -> (%e) { %e = Neg(%d) } }"),
      24);
}

TEST(Export, SmallIntegersArePacked) {
  const auto model = exported(
      "graph g(%x: f32[3]) -> (%y) { constant %w: i4[3] = {1, -2, 7} %f = Cast(%w) {to = 1} %y = Add(%x, %f) }");
  EXPECT_EQ(model.graph().initializer(0).data_type(), 22);
  EXPECT_EQ(model.graph().initializer(0).raw_data(), std::string("\xe1\x07", 2));
  EXPECT_EQ(import_model(model).graph.value(ValueId(1)).constant->to_ints(), (std::vector<int64_t>{1, -2, 7}));
}

TEST(Export, AConstantOfTheGraphAroundIsWrittenOnce) {
  Graph graph = parse_graph(
      "graph g(%x: f32[2], %c: bool[]) -> (%y) {"
      "  constant %w: f32[2] = {1, 2}"
      "  %h = Add(%x, %w)"
      "  %y = If(%c | %h) graph then(%a: f32[2]) -> (%b) { constant %v: f32[2] = {1, 2} %b = Mul(%a, %v) }"
      "  graph else(%d: f32[2]) -> (%e) { %e = Neg(%d) } }");
  const auto first_constant = [](Graph& g) -> Value& {
    for (int64_t i = 0;; ++i)
      if (g.value(ValueId(i)).is_constant()) return g.value(ValueId(i));
  };
  Graph& then = *graph.node(graph.value(graph.outputs[0]).producer).bodies[0];
  EXPECT_EQ(exported(graph).graph().node(1).attribute(1).g().initializer_size() +
                exported(graph).graph().node(1).attribute(0).g().initializer_size(),
            1)
      << "equal, but another constant";
  first_constant(then).constant = first_constant(graph).constant;
  const auto model = exported(graph);
  EXPECT_EQ(model.graph().initializer_size(), 1);
  const auto& body = model.graph().node(1).attribute(0).g();
  EXPECT_EQ(body.initializer_size(), 0);
  EXPECT_EQ(body.node(0).input(0), "h") << "a capture";
  EXPECT_EQ(body.node(0).input(1), "w");
}

TEST(Export, NamesAreTheModels) {  // a subgraph's value must not hide a value of the outer graph
  const auto model = exported(
      "graph g(%x: f32[2], %c: bool[]) -> (%y, %z) {"
      "  %y = If(%c | %x) graph then(%a: f32[2]) -> (%z) { %z = Exp(%a) }"
      "  graph else(%d: f32[2]) -> (%d) { }"
      "  %z = Neg(%x) @\"y\" }");
  EXPECT_EQ(model.graph().node(0).attribute(0).g().output(0).name(), "z.1");
  EXPECT_EQ(model.graph().node(0).attribute(1).g().node(0).op_type(), "Identity") << "a capture is no result";
  EXPECT_EQ(model.graph().node(1).name(), "y.1") << "two nodes of one name";
  EXPECT_EQ(model.graph().output(1).name(), "z");
}

TEST(Export, MetadataAndProducer) {
  ExportOptions options;
  options.producer = "somebody";
  options.metadata = {{"stride", "32"}};
  const auto model = exported(parse_graph("graph \"\"(%x: f32[2]) -> (%y) { %y = Relu(%x) }"), options);
  EXPECT_EQ(model.producer_name(), "somebody");
  EXPECT_EQ(model.metadata_props(0).value(), "32");
  EXPECT_EQ(model.graph().name(), "graph");
}

TEST(Export, CustomOperatorsAreTheModels) {
  const auto model = exported(
      "graph g(%x: f32[2]) -> (%y) { %y = gart.Custom(%x) {\"gart.declaration\" = \"acme::Twice(T[n]) -> T[n]\", k = "
      "3} }");
  EXPECT_EQ(model.graph().node(0).domain(), "acme");
  EXPECT_EQ(model.graph().node(0).op_type(), "Twice");
  EXPECT_EQ(model.graph().node(0).attribute_size(), 1);
  EXPECT_EQ(model.opset_import(1).domain(), "acme");
}

TEST(Export, WhatOnnxDoesNotHaveIsRefused) {
  EXPECT_EQ(refusal("graph g(%x: f32[2]) -> (%y) { %y: f32[2] = gart.View(%x) {shape = [\"2\"]} @\"flat\" }"),
            "node 'flat' (View) cannot be written as ONNX: the operator is internal to this compiler");
  EXPECT_EQ(refusal("graph g(%x: f32[2,c,3], %s: f32[2], %b: f32[2]) -> (%y) {"
                    " %y: f32[2,c,3] = GroupNormalization(%x, %s, %b) {num_groups = 2, scale_per_group = 1} }"),
            "node 'y' (GroupNormalization) cannot be written as ONNX: its scales are per group, and the number of "
            "channels is "
            "not known");
  EXPECT_EQ(refusal("graph g(%x: f32[1,1,4,4]) -> (%y) { constant %s: f32[4] = {1, 1, 2, 0.5}"
                    " %y: f32[1,1,8,2] = Resize(%x, _, %s) {nearest_mode = \"simple\"} }"),
            "node 'y' (Resize) cannot be written as ONNX: it has opset 10, enlarges one dimension and shrinks another");
  EXPECT_EQ(refusal("graph g(%x: ?) -> (%y) { %y: ? = Relu(%x) }"), "graph input 'x' has no type, which ONNX requires");
}

TEST(Export, PastTheLimitWeightsStandBeside) {
  const Graph graph = parse_graph(
      "graph g(%x: f32[32,32]) -> (%y) { constant %w: f32[32,32] = random(1) constant %v: f32[32,40] = random(2)"
      " constant %s: f32[1] = {3} %a = MatMul(%x, %w) %b = MatMul(%a, %v) %y = Mul(%b, %s) }");
  ExportOptions options;
  options.most_bytes = 4000;
  EXPECT_EQ(refusal(print_graph(graph), options), "the model has 9220 bytes; past 4000 it must be written as a file");
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / concat("gcc-graph-export-", getpid());
  std::filesystem::create_directory(folder);
  const std::string path = folder / "m.onnx";
  export_onnx(graph, path, options);
  EXPECT_EQ(std::filesystem::file_size(path + ".data"), 4096 + 32 * 40 * 4);
  EXPECT_LT(std::filesystem::file_size(path), 1000);
  EXPECT_EQ(print_graph(import_onnx(path).graph), print_graph(graph));
  export_onnx(import_onnx(path).graph, path, options);  // the second export, whose Identity takes the name of its input
  EXPECT_EQ(print_graph(import_onnx(path).graph), print_graph(graph));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2) << "nothing else is left";
  std::filesystem::remove_all(folder);
  try {
    export_onnx(graph, path);
    FAIL() << "there is no folder";
  } catch (const CompileError& error) {
    EXPECT_EQ(std::string(error.what()), concat("cannot write ", path, ": No such file or directory"));
  }
}

}  // namespace
}  // namespace gcg::test
