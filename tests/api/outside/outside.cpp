// Builds, compiles, saves and records graphs by libgcc_graph's installed headers: outside FOLDER.
#include <gcc_graph/compile.h>
#include <gcc_graph/compile_model.h>
#include <gcc_graph/fleet.h>
#include <gcc_graph/functions.h>
#include <gcc_graph/graph.h>
#include <gcc_graph/json.h>
#include <gcc_graph/lazy.h>
#include <gcc_graph/operators.h>
#include <gcc_graph/place.h>
#include <gcc_graph/tune.h>
#include <gcc_graph/types.h>
#include <gcc_graph/values.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <optional>

namespace gg = gcc_graph;

namespace {

template <class Thrown>
std::optional<Thrown> thrown_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const Thrown& error) {
    return error;
  }
  return std::nullopt;
}

/// This program catches the library's errors by the library's own types.
bool errors_arrive(const std::string& folder) {
  const auto wrong = thrown_by<gg::Error>([] { gg::Graph().input("x", gg::DType::f32, {"n", "n +"}); });
  const auto late = thrown_by<gg::lazy::Failure>([] {
    const float numbers[] = {1, 2};
    const int64_t nine = 9;
    const gg::lazy::Operator gather = gg::lazy::Operator::make("Gather", "xx", {{"axis", int64_t{0}}});
    const gg::lazy::Array x(gg::DType::f32, {2}, numbers), at = gg::lazy::Array::scalar(gg::DType::i64, &nine);
    static_cast<void>(gg::lazy::record(gather, x, at, {7, 42}).data());
  });
  const auto unknown = thrown_by<gg::Unsupported>([&] { gg::compile_model(folder + "/unknown.onnx"); });
  if (!wrong || !late || !unknown) return false;
  std::cout << wrong->what() << "\n" << late->what() << "\n" << unknown->what() << "\n";
  return late->source.code == 7 && late->source.at == 42 && unknown->nodes().at(0).op == "NoSuch";
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  gg::Graph graph("doubled");
  const gg::Value x = graph.input("x", gg::DType::f32, {"n", "2"});
  graph.output("y", graph.op("Add", {x, x}));
  gg::save(gg::compile(graph), folder + "/doubled.gart");
  const std::vector<uint8_t> model = gg::to_onnx(graph);
  std::ofstream(folder + "/doubled.onnx", std::ios::binary)
      .write(reinterpret_cast<const char*>(model.data()), static_cast<std::streamsize>(model.size()));
  const float numbers[] = {1, 2, 3, 4};
  const gg::lazy::Array four(gg::DType::f32, {2, 2}, numbers);
  const gg::lazy::Array squares = gg::lazy::record(gg::lazy::Operator::make("Mul", "xx"), four, four);
  const bool is_right = static_cast<const float*>(squares.data())[3] == 16 && gg::known_operators().size() > 100;
  return is_right && errors_arrive(folder) ? 0 : 1;
}
