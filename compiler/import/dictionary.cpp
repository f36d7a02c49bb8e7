#include "compiler/import/dictionary.h"

#include <algorithm>
#include <set>

namespace gcg {
namespace {

class Collector {
 public:
  void add(const onnx::ModelProto& model) {
    add(model.graph());
    for (const auto& function : model.functions()) add_nodes(function.node());
  }
  std::vector<std::string> strings() const { return {found_.begin(), found_.end()}; }

 private:
  void add(const onnx::TensorProto& tensor) { found_.insert(tensor.string_data().begin(), tensor.string_data().end()); }

  void add(const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) add(tensor);
    add_nodes(graph.node());
  }

  template <class Nodes>
  void add_nodes(const Nodes& nodes) {
    for (const onnx::NodeProto& node : nodes)
      for (const onnx::AttributeProto& attribute : node.attribute()) add(node, attribute);
  }

  void add(const onnx::NodeProto& node, const onnx::AttributeProto& attribute) {
    const bool holds_text = node.op_type() == "Constant" || attribute.name() == "default_string";
    if (holds_text && attribute.has_s()) found_.insert(attribute.s());
    found_.insert(attribute.strings().begin(), attribute.strings().end());
    if (attribute.has_t()) add(attribute.t());
    if (attribute.has_g()) add(attribute.g());
    for (const auto& graph : attribute.graphs()) add(graph);
  }

  std::set<std::string> found_ = {"", "_Unused"};  // "_Unused": LabelEncoder's value for unknown keys
};

bool is_string(const onnx::ValueInfoProto& input) {
  return input.type().tensor_type().elem_type() == onnx::TensorProto::STRING;
}

}  // namespace

std::vector<std::string> dictionary_of(const onnx::ModelProto& model, const std::vector<FunctionLibrary>& libraries) {
  const auto& inputs = model.graph().input();
  if (std::none_of(inputs.begin(), inputs.end(), is_string)) return {};
  Collector all;
  all.add(model);
  for (const FunctionLibrary& library : libraries) all.add(*library.model);
  return all.strings();
}

}  // namespace gcg
