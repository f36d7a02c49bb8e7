#include "compiler/import/graph_importer.h"

#include <algorithm>

#include "compiler/import/dictionary.h"
#include "compiler/import/input_dims.h"
#include "compiler/import/node_order.h"
#include "compiler/import/tensor_import.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

/// Every value name in the model's graph.
std::set<std::string> names_in(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  return names;
}

const char* kind_of(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      return "a tensor";
    case onnx::TypeProto::kSequenceType:
      return "a sequence";
    case onnx::TypeProto::kMapType:
      return "a map";
    case onnx::TypeProto::kOptionalType:
      return "an optional";
    case onnx::TypeProto::kSparseTensorType:
      return "a sparse tensor";
    default:
      return "a value of unknown type";
  }
}

/// The reason why a graph input is not supported; empty if it is supported.
std::string why_not_input(const onnx::TypeProto& type) {
  if (type.has_sequence_type() || type.has_optional_type())
    return concat("it is ", kind_of(type), "; give its number of elements by --dim NAME=LENGTH");
  if (type.value_case() != onnx::TypeProto::kTensorType)
    return concat("it is ", kind_of(type), "; only tensors are supported");
  const int32_t element = type.tensor_type().elem_type();
  if (const auto why = unsupported_dtype(element); why && element != onnx::TensorProto::STRING) return *why;
  if (!type.tensor_type().has_shape()) return "it has no shape; its rank must be known";
  return {};
}

}  // namespace

ValueId Body::enter(ValueId outer_value) {
  if (!outer_value.valid()) return outer_value;
  if (const auto known = from_outer.find(outer_value); known != from_outer.end()) return known->second;
  const Value& value = outer->graph.value(outer_value);
  Value copy;
  copy.name = graph.unique_name(value.name);
  copy.dtype = value.dtype;
  copy.shape = value.shape;
  copy.constant = value.constant;
  if (!value.is_constant() && std::find(captures->begin(), captures->end(), outer_value) == captures->end())
    captures->push_back(outer_value);
  const ValueId entered = graph.add_value(std::move(copy));
  if (labels != nullptr) labels->copy(outer->graph, outer_value, graph, entered);
  return from_outer[outer_value] = entered;
}

const ValueId* Scope::find(const std::string& name) {
  if (const auto known = values.find(name); known != values.end()) return &known->second;
  const ValueId* found = outer != nullptr ? outer->find(name) : nullptr;
  return found != nullptr ? &(values[name] = body.enter(*found)) : nullptr;
}

GraphImporter::GraphImporter(std::shared_ptr<const onnx::ModelProto> model, std::vector<FunctionLibrary> libraries,
                             ExternalData external, const std::vector<CustomOp>& custom_ops)
    : model_(std::move(model)),
      libraries_(std::move(libraries)),
      owner_(std::make_shared<std::pair<std::shared_ptr<const onnx::ModelProto>, std::vector<FunctionLibrary>>>(
          model_, libraries_)),
      external_(std::move(external)),
      custom_ops_(custom_ops) {
  model_opsets_ = opset_versions(model_->opset_import(), "the model");
  collect_functions();
  labels_.set_dictionary(dictionary_of(*model_, libraries_));
}

Graph GraphImporter::import_graph() {
  const onnx::GraphProto& proto = model_->graph();
  Graph graph;
  graph.name = proto.name();
  Environment environment;
  environment.opsets = model_opsets_;
  Body body{graph};
  body.reserved = names_in(proto);
  Scope scope{body, environment};
  import_inputs(scope, proto);
  import_initializers(scope, proto);
  import_nodes(scope, proto.node());
  import_outputs(scope, proto);
  return graph;
}

void GraphImporter::import_inputs(Scope& scope, const onnx::GraphProto& graph) {
  std::set<std::string> initialized;  // an input with an initializer is a constant
  for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) initialized.insert(tensor.values().name());
  InputDims dims(graph.input());
  for (const auto& input : graph.input()) {
    if (initialized.count(input.name()) != 0) continue;
    if (input.name().empty()) fail("graph input ", scope.body.graph.inputs.size(), " has no name");
    const ValueId id = add_value(scope, input.name());
    scope.body.graph.inputs.push_back(id);
    const std::string why = why_not_input(input.type());
    if (!why.empty()) {
      unsupported_.push_back({input.name(), "graph input", "", model_opsets_[""], why});
      continue;
    }
    const auto& type = input.type().tensor_type();
    Value& value = scope.body.graph.value(id);
    value.shape = dims.shape(input.name(), type.shape());
    value.dtype = dtype_from_onnx(type.elem_type()).value_or(DType::i64);  // strings are numbers of the dictionary
    if (type.elem_type() != onnx::TensorProto::STRING) continue;
    labels_.add_input(scope.body.graph, id);
    text_labels_[input.name()] = *labels_.of(scope.body.graph, id);
  }
}

void GraphImporter::import_initializers(Scope& scope, const onnx::GraphProto& graph) {
  for (const auto& sparse : graph.sparse_initializer()) {
    const std::string& name = sparse.values().name();
    const auto why = unsupported_dtype(sparse.values().data_type());
    if (why) unsupported_.push_back({name, "initializer", "", model_opsets_[""], *why});
    TensorRef dense;
    if (!why) dense = std::make_shared<Tensor>(import_sparse_tensor(sparse, name, owner_, external_));
    add_value(scope, name, std::move(dense));
  }
  for (const auto& tensor : graph.initializer()) {
    if (tensor.name().empty()) fail("an initializer of graph '", graph.name(), "' has no name");
    if (tensor.data_type() == onnx::TensorProto::STRING) {
      add_strings(scope, tensor.name(), tensor);
      continue;
    }
    if (const auto why = unsupported_dtype(tensor.data_type())) {
      unsupported_.push_back({tensor.name(), "initializer", "", model_opsets_[""], *why});
      add_value(scope, tensor.name());
    } else {
      add_value(scope, tensor.name(),
                std::make_shared<Tensor>(import_tensor(tensor, tensor.name(), owner_, external_)));
    }
  }
}

void GraphImporter::add_strings(Scope& scope, const std::string& name, const onnx::TensorProto& tensor) {
  auto [numbers, labels] = labels_.number(tensor);
  labels_.set(scope.body.graph, add_value(scope, name, std::move(numbers)), std::move(labels));
}

void GraphImporter::import_nodes(Scope& scope, const NodeProtos& nodes) {
  scope.nodes = &nodes;
  for (const onnx::NodeProto* node : topological_order(nodes)) import_node(scope, *node);
}

void GraphImporter::import_outputs(Scope& scope, const onnx::GraphProto& proto) {
  Graph& graph = scope.body.graph;
  if (proto.output_size() == 0) fail("the model's graph has no outputs");
  std::set<std::string> seen;
  for (const auto& output : proto.output()) {
    if (!seen.insert(output.name()).second) fail("graph output '", output.name(), "' is listed twice");
    ValueId id = value_of(scope, output.name(), concat("graph output '", output.name(), "'"), nullptr);
    if (!id.valid()) fail("graph output '", output.name(), "' is an omitted output of a function");
    const ValueId made = id;
    if (graph.value(id).name != output.name()) {  // a function returns a value that already has another name
      Node identity;
      identity.op = &op("Identity");
      identity.name = output.name();
      identity.inputs = {id};
      Value named;
      named.name = output.name();
      id = graph.add_value(std::move(named));
      identity.outputs = {id};
      graph.add_node(std::move(identity));
    }
    graph.outputs.push_back(id);
    if (labels_.may_be_unknown(graph, made))
      unsupported_.push_back({output.name(), "graph output", "", model_opsets_[""],
                              "it has strings of an input; a model can look strings up, but not give them"});
    if (const LabelList list = labels_.of(graph, made)) text_labels_[output.name()] = *list;
  }
}

void GraphImporter::define(Scope& scope, const std::string& name, ValueId value) {
  if (!scope.values.emplace(name, value).second)
    fail("value '", scope.environment.prefix, name, "' has two producers; every value has one");
}

ValueId GraphImporter::add_value(Scope& scope, const std::string& name, TensorRef constant) {
  const Environment& environment = scope.environment;
  Value value;
  const auto renamed = environment.renames.find(name);
  if (renamed != environment.renames.end()) {
    value.name = renamed->second;
  } else {
    value.name = environment.prefix + name;
    if (!environment.calls.empty())
      for (int i = 1; scope.body.reserved.count(value.name) != 0; ++i)
        value.name = concat(environment.prefix, name, ".", i);
  }
  value.name = scope.body.graph.unique_name(value.name);
  if (constant != nullptr) {
    value.dtype = constant->dtype();
    value.shape = to_shape(constant->shape());
    value.constant = std::move(constant);
  }
  const ValueId id = scope.body.graph.add_value(std::move(value));
  define(scope, name, id);
  return id;
}

ValueId GraphImporter::value_of(Scope& scope, const std::string& name, const std::string& reader,
                                const onnx::NodeProto* node) {
  if (const ValueId* id = scope.find(name)) return *id;
  fail(reader, " reads '", name, "', ", missing_value(scope, name, node));
}

}  // namespace gcg
