#include "gcc_graph/interpret.h"

#include <algorithm>
#include <cstring>

#include "compiler/import/import.h"
#include "compiler/passes/resolve_ranks.h"
#include "compiler/reference/interpreter.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {
namespace {

gcg::Tensor tensor_of(const HostArray& array) {
  gcg::Tensor tensor(static_cast<gcg::DType>(array.dtype), array.shape);
  if (static_cast<size_t>(tensor.bytes()) != array.bytes.size())
    gcg::fail("input '", array.name, "' has ", array.bytes.size(), " bytes, its shape needs ", tensor.bytes());
  if (!array.bytes.empty()) std::memcpy(tensor.mutable_data(), array.bytes.data(), array.bytes.size());
  return tensor;
}

HostArray array_of(const std::string& name, const gcg::Tensor& tensor) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(tensor.data());
  return {name, static_cast<DType>(tensor.dtype()), tensor.shape(), {bytes, bytes + tensor.bytes()}};
}

}  // namespace

std::vector<HostArray> interpret_model(const std::string& path, const std::vector<HostArray>& inputs,
                                       const std::vector<std::string>& outputs) {
  return detail::guarded([&] {
    gcg::Graph graph = gcg::import_onnx(path, {}, {}, {}, outputs).graph;
    gcg::resolve_ranks(graph);
    std::vector<gcg::Tensor> tensors;
    for (const gcg::ValueId in : graph.inputs) {
      const std::string& name = graph.value(in).name;
      const auto at = std::find_if(inputs.begin(), inputs.end(), [&](const HostArray& a) { return a.name == name; });
      if (at == inputs.end()) gcg::fail("input '", name, "' is not given");
      tensors.push_back(tensor_of(*at));
    }
    const std::vector<gcg::Tensor> results = gcg::interpret(graph, tensors);
    std::vector<HostArray> arrays;
    for (size_t i = 0; i < results.size(); ++i)
      arrays.push_back(array_of(graph.value(graph.outputs[i]).name, results[i]));
    return arrays;
  });
}

std::vector<std::string> computed_floats(const std::string& path) {
  return detail::guarded([&] {
    const gcg::Graph graph = gcg::import_onnx(path).graph;
    std::vector<std::string> names;
    for (const gcg::NodeId id : graph.order())
      for (const gcg::ValueId out : graph.node(id).outputs)
        if (out.valid() && gcg::is_float(graph.value(out).dtype) && !graph.value(out).is_constant())
          names.push_back(graph.value(out).name);
    return names;
  });
}

}  // namespace gcc_graph
