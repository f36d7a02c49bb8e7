#include "compiler/import/sequence_inputs.h"

#include "compiler/support/error.h"

namespace gcg {
namespace {

constexpr int64_t kMostElements = 4096;

/// The type of the elements; null if they are not tensors.
const onnx::TypeProto* element_type(const onnx::TypeProto& type) {
  const onnx::TypeProto* of = &type;
  if (of->has_optional_type()) of = &of->optional_type().elem_type();
  if (of->has_sequence_type()) of = &of->sequence_type().elem_type();
  return of != &type && of->has_tensor_type() ? of : nullptr;
}

/// Adds a node before all others.
onnx::NodeProto& prepend_node(onnx::GraphProto& graph, const char* op, const std::string& output) {
  auto& nodes = *graph.mutable_node();
  nodes.Add();
  for (int i = nodes.size() - 1; i > 0; --i) nodes.SwapElements(i, i - 1);
  onnx::NodeProto& node = *nodes.Mutable(0);
  node.set_op_type(op);
  node.set_name(output);
  node.add_output(output);
  return node;
}

/// Gives each element its own symbols, since elements may have different extents.
void rename_dims(onnx::TypeProto& type, int64_t element) {
  if (!type.tensor_type().has_shape()) return;
  for (auto& dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim())
    if (!dim.dim_param().empty()) dim.set_dim_param(concat(dim.dim_param(), "_", element));
}

void spread(onnx::GraphProto& graph, const onnx::ValueInfoProto& input, int64_t length,
            google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& inputs) {
  const onnx::TypeProto& type = input.type();
  const bool optional = type.has_optional_type(),
             single = optional && !type.optional_type().elem_type().has_sequence_type();
  if (length < 0 || length > (single ? 1 : kMostElements))
    fail("input '", input.name(), "' cannot have ", length, " elements; at most ", single ? 1 : kMostElements,
         " are taken");
  std::vector<std::string> names;
  for (int64_t k = 0; k < length; ++k) {
    onnx::ValueInfoProto& element = *inputs.Add();
    element.set_name(concat(input.name(), ".", k));
    *element.mutable_type() = *element_type(type);
    rename_dims(*element.mutable_type(), k);
    names.push_back(element.name());
  }
  if (optional) {  // nodes are prepended, so the node added last comes first
    onnx::NodeProto& whole = prepend_node(graph, "Optional", input.name());
    if (single && length == 0) return;
    whole.add_input(single ? names[0] : input.name() + ".elements");
    if (single) return;
  }
  onnx::NodeProto& list =
      prepend_node(graph, "SequenceConstruct", optional ? input.name() + ".elements" : input.name());
  for (const std::string& name : names) list.add_input(name);
}

}  // namespace

std::vector<std::string> spread_sequence_inputs(onnx::ModelProto& model,
                                                const std::map<std::string, int64_t>& lengths) {
  std::vector<std::string> taken;
  onnx::GraphProto& graph = *model.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> inputs;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const auto length = lengths.find(input.name());
    if (length == lengths.end() || element_type(input.type()) == nullptr) {
      *inputs.Add() = input;
      continue;
    }
    spread(graph, input, length->second, inputs);
    taken.push_back(input.name());
  }
  if (!taken.empty()) graph.mutable_input()->Swap(&inputs);
  return taken;
}

}  // namespace gcg
