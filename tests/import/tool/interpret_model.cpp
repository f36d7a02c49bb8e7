// Imports a model and runs it through the interpreter, for comparisons with other runtimes.
//
//   interpret_model MODEL.onnx                      imports, resolves ranks, prints a summary or the fault
//   interpret_model MODEL.onnx --text               prints the graph
//   interpret_model MODEL.onnx OUT_FOLDER IN.pb...  one TensorProto per graph input; writes OUT_FOLDER/N.pb
//
// With --passes at the end, all passes of the model run first.
#include <onnx/onnx_pb.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <map>

#include "compiler/gir/gir.h"
#include "compiler/gir/verify_graph.h"
#include "compiler/import/import.h"
#include "compiler/import/tensor_import.h"
#include "compiler/ops/op_def.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/resolve_ranks.h"
#include "compiler/reference/interpreter.h"

namespace {

using namespace gcg;

void count_ops(const Graph& graph, std::map<std::string, int>& counts) {
  for (NodeId id : graph.order()) {
    ++counts[graph.node(id).op->name];
    for (const auto& body : graph.node(id).bodies) count_ops(*body, counts);
  }
}

void summarise(const ImportedModel& model) {
  const Graph& g = model.graph;
  const auto line = [&](const char* what, ValueId id) {
    std::cout << "  " << what << " " << g.value(id).name << ": " << name_of(g.value(id).dtype)
              << str(*g.value(id).shape) << "\n";
  };
  for (ValueId id : g.inputs) line("input", id);
  for (ValueId id : g.outputs) line("output", id);
  for (const DimConstraint& c : g.constraints)
    std::cout << "  needs " << c.a.str() << " == " << c.b.str() << ": " << c.reason << "\n";
  std::map<std::string, int> counts;
  count_ops(g, counts);
  for (const auto& [name, count] : counts) std::cout << "  " << count << " " << name;
  std::cout << "\n";
}

Tensor read_tensor(const std::string& path) {
  auto proto = std::make_shared<onnx::TensorProto>();
  std::ifstream file(path, std::ios::binary);
  if (!proto->ParseFromIstream(&file)) fail("cannot read ", path);
  ExternalData none("");
  return import_tensor(*proto, path, proto, none);
}

void write_tensor(const Tensor& tensor, const std::string& path) {
  onnx::TensorProto proto;
  proto.set_data_type(dtype_to_onnx(tensor.dtype()));
  for (int64_t extent : tensor.shape()) proto.add_dims(extent);
  proto.set_raw_data(tensor.data(), static_cast<size_t>(tensor.bytes()));
  std::ofstream file(path, std::ios::binary);
  proto.SerializeToOstream(&file);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(std::vector<std::string> arguments) {
  const auto start = std::chrono::steady_clock::now();
  ImportedModel model = import_onnx(arguments.at(0));
  const double imported = seconds_since(start);
  const bool all_passes = arguments.back() == "--passes";
  if (all_passes) arguments.pop_back();
  if (all_passes)
    run_passes(model.graph, model_passes(), nullptr, {});
  else
    resolve_ranks(model.graph);
  verify_graph(model.graph);
  if (arguments.size() == 1) {
    std::cout << arguments[0] << ": imported in " << imported << " s, checked after " << seconds_since(start) << " s\n";
    summarise(model);
  } else if (arguments[1] == "--text") {
    std::cout << print_graph(model.graph, GirData::elided);
  } else {
    std::vector<Tensor> inputs;
    for (size_t i = 2; i < arguments.size(); ++i) inputs.push_back(read_tensor(arguments[i]));
    const std::vector<Tensor> outputs = interpret(model.graph, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) write_tensor(outputs[i], concat(arguments[1], "/", i, ".pb"));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const UnsupportedModel& error) {
    std::cerr << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
