// The public builder: typed values, errors at the call that causes them, files that run, and ONNX import and export.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "gart/gart.hpp"
#include "gcc_graph/compile.h"
#include "gcc_graph/functions.h"

namespace gcc_graph {
namespace {

Graph classifier() {
  Graph graph("classifier");
  const Value x = graph.input("x", DType::f32, {"batch", "3"});
  const Value w = graph.constant<float>({3, 2}, std::vector<float>{1, 0, 0, 1, 1, 1});
  graph.output("y", graph.op("Tanh", {graph.op("MatMul", {x, w})}));
  return graph;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing failed";
}

TEST(Builder, ValuesAreTypedAtOnce) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {"n", "4"});
  const Value y = graph.op("Concat", {x, x}, {{"axis", int64_t{1}}});
  EXPECT_EQ(y.text(), "f32[n,8]");
  EXPECT_EQ(graph.ops("Split", {y}, 2, {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}})[1].shape(),
            (std::vector<std::string>{"n", "4"}));
}

TEST(Builder, ErrorsNameOperatorAndTypes) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {"3", "4"});
  const int64_t before = graph.node_count();
  const std::string text = message_of([&] { graph.op("MatMul", {x, x}); });
  for (const char* part : {"MatMul", "f32[3,4]", "4 and 3"}) EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(graph.node_count(), before) << "what failed is not in the graph";
  EXPECT_NE(message_of([&] { graph.op("NoSuch", {x}); }).find("NoSuch"), std::string::npos);
  EXPECT_NE(message_of([&] { graph.input("x", DType::f32, {}); }).find("two inputs"), std::string::npos);
  EXPECT_NE(message_of([&] { graph.op("Neg", {Graph().input("z", DType::f32, {})}); }).find("another graph"),
            std::string::npos);
  EXPECT_NE(message_of([&] { graph.constant<float>({2, 2}, std::vector<float>{1}); }).find("4 elements"),
            std::string::npos);
}

std::vector<float> run(const std::vector<uint8_t>& artifact) {
  auto program = gart::load(std::span<const uint8_t>(artifact));
  EXPECT_TRUE(program.ok()) << program.error().message;
  const float x[] = {0.1F, 0.2F, 0.3F, 1, 2, 3};
  const gart::TensorView inputs[] = {{x, gart::DType::f32, {2, 3}}};
  auto outputs = program->run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  const auto y = outputs->at(0).elements<float>();
  return {y.begin(), y.end()};
}

TEST(Compile, TheArtifactRuns) {
  const std::vector<float> y = run(compile(classifier(), {.targets = {"x86-64-v3"}}).artifact);
  ASSERT_EQ(y.size(), 4U);
  EXPECT_NEAR(y[0], std::tanh(0.4F), 1e-6);
  EXPECT_NEAR(y[3], std::tanh(5.0F), 1e-6);
}

TEST(Compile, OnnxAndBackGivesTheSameBits) {
  const Graph graph = classifier();
  const Graph again = Graph::import_onnx(to_onnx(graph));
  EXPECT_EQ(again.inputs()[0].text(), "f32[batch,3]");
  EXPECT_EQ(run(compile(again, {.targets = {"x86-64-v3"}}).artifact),
            run(compile(graph, {.targets = {"x86-64-v3"}}).artifact));
}

TEST(Functions, AreCarvedOutListedAndRemoved) {
  const std::string model = ::testing::TempDir() + "functions_model.onnx",
                    path = ::testing::TempDir() + "functions.onnx";
  const auto write = [](const std::string& to, const std::vector<uint8_t>& bytes) {
    std::ofstream(to, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  std::filesystem::remove(path);
  write(model, to_onnx(classifier()));
  write(path, add_function(path, model, {"acme::Classify", {"x"}, {"y"}, {{"gart.device", "cpu"}}}).bytes);
  const std::vector<FunctionSummary> list = list_functions(path);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].name, "acme::Classify");
  EXPECT_EQ(list[0].inputs.at(0).type, "f32[batch,3]");
  EXPECT_EQ(list[0].nodes, 2);
  EXPECT_EQ(list[0].labels.at("gart.device"), "cpu");
  EXPECT_NE(message_of([&] { remove_function(path, "acme::Classifi"); }).find("'acme::Classify'"), std::string::npos);
  EXPECT_NE(message_of([&] { add_function(path, model, {"Other", {"x"}, {"z"}, {}}); }).find("no value 'z'"),
            std::string::npos);
  EXPECT_TRUE(remove_function(path, "acme::Classify").is_empty);
}

TEST(Compile, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(message_of([] { compile(classifier(), {.targets = {"z80"}}); }).find("z80"), std::string::npos);
  EXPECT_NE(message_of([] { compile(classifier(), {.precision = "fp7"}); }).find("fp7"), std::string::npos);
}

}  // namespace
}  // namespace gcc_graph
