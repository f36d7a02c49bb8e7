#include "compiler/export/graph_exporter.h"

#include <algorithm>
#include <optional>

#include "compiler/export/standard_onnx.h"
#include "compiler/export/tensor_export.h"
#include "compiler/ops/custom_op.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// The exported version of a domain other than ai.onnx. From version 5 on, ai.onnx.ml no longer has the older tree
/// operators.
int64_t version_of(const std::string& domain, const OpDef& op) {
  if (domain == "ai.onnx.ml") return std::max<int64_t>(op.since, 4);
  return domain == "gart" ? 1 : op.since;
}

onnx::AttributeProto export_attribute(const std::string& name, const Attribute& attribute) {
  using onnx::AttributeProto;
  AttributeProto proto;
  proto.set_name(name);
  if (const auto* i = std::get_if<int64_t>(&attribute)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(*i);
  } else if (const auto* f = std::get_if<double>(&attribute)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(*f));
  } else if (const auto* s = std::get_if<std::string>(&attribute)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(*s);
  } else if (const auto* t = std::get_if<TensorRef>(&attribute)) {
    proto.set_type(AttributeProto::TENSOR);
    *proto.mutable_t() = export_tensor(**t, "");
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute)) {
    proto.set_type(AttributeProto::INTS);
    for (const int64_t v : *ints) proto.add_ints(v);
  } else if (const auto* floats = std::get_if<std::vector<double>>(&attribute)) {
    proto.set_type(AttributeProto::FLOATS);
    for (const double v : *floats) proto.add_floats(static_cast<float>(v));
  } else {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& v : std::get<std::vector<std::string>>(attribute)) proto.add_strings(v);
  }
  return proto;
}

/// The constants that this graph's nodes or outputs read, in order. Constants inside subgraphs are left out.
std::vector<ValueId> constants_read(const Graph& graph) {
  std::vector<ValueId> read;
  std::set<ValueId> seen;
  const auto add = [&](ValueId v) {
    if (v.valid() && graph.value(v).is_constant() && seen.insert(v).second) read.push_back(v);
  };
  for (NodeId id : graph.order())
    for (ValueId input : graph.node(id).inputs) add(input);
  for (ValueId output : graph.outputs) add(output);
  return read;
}

/// The data of all constants in subgraphs at any depth. Subgraphs hold copies of the constants of the graphs around
/// them.
void constants_of_bodies(const Graph& graph, std::set<const Tensor*>& found) {
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) {
      for (ValueId v : constants_read(*body)) found.insert(body->value(v).constant.get());
      constants_of_bodies(*body, found);
    }
}

/// The type of a sequence value, if an operator makes it as a sequence of tensors.
std::optional<onnx::TypeProto> sequence_type(const Graph& graph, ValueId v) {
  const Value& value = graph.value(v);
  if (!value.producer.valid()) return std::nullopt;
  const Node& node = graph.node(value.producer);
  DType element = DType::undefined;
  if (node.op == &op_SequenceEmpty)
    element = dtype_from_onnx(static_cast<int32_t>(node.int_attribute("dtype", 1))).value_or(DType::undefined);
  else if ((node.op == &op_SequenceConstruct || node.op == &op_SplitToSequence) && !node.inputs.empty())
    element = graph.value(node.inputs[0]).dtype;
  else if (node.op == &op_SequenceInsert && node.inputs.size() > 1)
    element = graph.value(node.inputs[1]).dtype;
  else if (node.op == &op_SequenceErase && !node.inputs.empty())
    return sequence_type(graph, node.inputs[0]);
  if (element == DType::undefined) return std::nullopt;
  onnx::TypeProto type;
  *type.mutable_sequence_type()->mutable_elem_type() = export_type(element, std::nullopt, false);
  return type;
}

}  // namespace

int64_t ExternalWeights::add(const TensorRef& tensor) {
  const int64_t at = (bytes + kExternalAlignment - 1) / kExternalAlignment * kExternalAlignment;
  tensors.push_back(tensor);
  offsets.push_back(at);
  bytes = at + tensor->bytes();
  return at;
}

std::string GraphExporter::free_name(Scope& scope, const std::string& preferred) {
  const auto is_taken = [&](const std::string& name) {
    for (const Scope* s = &scope; s != nullptr; s = s->outer)
      if (s->taken.count(name) != 0) return true;
    return false;
  };
  std::string name = preferred;
  for (int i = 1; is_taken(name); ++i) name = concat(preferred, ".", i);
  scope.taken.insert(name);
  return name;
}

const std::string& GraphExporter::name_of(Scope& scope, ValueId id) {
  const auto known = scope.names.find(id);
  if (known != scope.names.end()) return known->second;
  return scope.names[id] = free_name(scope, scope.graph.value(id).name);
}

const std::string* GraphExporter::constant_around(const Scope& scope, const Tensor* tensor) {
  for (const Scope* s = scope.outer; s != nullptr; s = s->outer)
    if (const auto known = s->constants.find(tensor); known != s->constants.end()) return &known->second;
  return nullptr;
}

onnx::TensorProto GraphExporter::export_initializer(const TensorRef& tensor, const std::string& name) {
  if (external_ == nullptr || tensor->bytes() < kSmallestExternal || !is_plain(*tensor))
    return export_tensor(*tensor, name);
  onnx::TensorProto proto = tensor_header(*tensor, name);
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&](const char* key, const std::string& value) {
    auto& data = *proto.add_external_data();
    data.set_key(key);
    data.set_value(value);
  };
  entry("location", location_);
  entry("offset", std::to_string(external_->add(tensor)));
  entry("length", std::to_string(tensor->bytes()));
  return proto;
}

void GraphExporter::export_constants(Scope& scope, onnx::GraphProto& proto) {
  std::set<const Tensor*> inside;
  constants_of_bodies(scope.graph, inside);
  std::set<ValueId> read;
  for (ValueId v : constants_read(scope.graph)) read.insert(v);
  for (int64_t i = 0; i < scope.graph.value_count(); ++i) {
    const ValueId id(i);
    const TensorRef& tensor = scope.graph.value(id).constant;
    if (tensor == nullptr || (read.count(id) == 0 && inside.count(tensor.get()) == 0)) continue;
    if (const std::string* name = constant_around(scope, tensor.get())) {
      scope.names[id] = *name;
      continue;
    }
    const std::string& name = name_of(scope, id);
    scope.constants.emplace(tensor.get(), name);
    *proto.add_initializer() = export_initializer(tensor, name);
  }
}

onnx::GraphProto GraphExporter::export_graph(const Graph& graph) {
  Scope scope{graph, nullptr};
  onnx::GraphProto proto;
  proto.set_name(graph.name.empty() ? "graph" : graph.name);
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    if (value.dtype == DType::undefined || !value.shape)
      fail("graph input '", value.name, "' has no type, which ONNX requires");
    auto& input = *proto.add_input();
    input.set_name(name_of(scope, id));
    *input.mutable_type() = export_type(value.dtype, value.shape, true);
  }
  for (ValueId id : graph.outputs) name_of(scope, id);  // first, because output names are the model's interface
  export_constants(scope, proto);
  export_nodes(scope, proto);
  export_outputs(scope, proto);
  return proto;
}

void GraphExporter::export_nodes(Scope& scope, onnx::GraphProto& proto) {
  const std::vector<NodeId> order = scope.graph.order();
  for (NodeId id : order)  // subgraphs must not take these names
    for (ValueId output : scope.graph.node(id).outputs)
      if (output.valid()) name_of(scope, output);
  for (NodeId id : order) export_node(scope, scope.graph.node(id), *proto.add_node());
}

void GraphExporter::export_node(Scope& scope, const Node& node, onnx::NodeProto& proto) {
  std::string domain = node.op->domain, op_type = node.op->name;
  if (node.op == &op_gart_Custom) {
    const CustomOp custom = parse_custom_op(node.string_attribute(kDeclarationAttribute, ""));
    domain = custom.domain;
    op_type = custom.name;
  }
  if (!domain.empty()) {
    int64_t& version = domains_[domain];
    version = std::max(version, version_of(domain, *node.op));
  }
  std::string name = node.name;  // several nodes may come from one model node, but runtimes need unique names
  for (int i = 1; !scope.node_names.insert(name).second; ++i) name = concat(node.name, ".", i);
  proto.set_name(name);
  proto.set_domain(domain);
  proto.set_op_type(op_type);
  for (size_t i = 0; i + static_cast<size_t>(node.captures) < node.inputs.size(); ++i)
    proto.add_input(node.inputs[i].valid() ? name_of(scope, node.inputs[i]) : "");
  for (ValueId output : node.outputs) proto.add_output(output.valid() ? name_of(scope, output) : "");
  for (const auto& [key, attribute] : node.attributes)
    if (!key.starts_with("gart.")) *proto.add_attribute() = export_attribute(key, attribute);
  const std::vector<std::string> names = body_names(node);
  for (size_t i = 0; i < node.bodies.size(); ++i) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(names.at(i));
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = export_body(scope, node, *node.bodies[i]);
  }
}

onnx::GraphProto GraphExporter::export_body(Scope& outer, const Node& node, const Graph& body) {
  Scope scope{body, &outer};
  const size_t captures = static_cast<size_t>(node.captures), own_inputs = body.inputs.size() - captures;
  for (size_t i = 0; i < captures; ++i)
    scope.names[body.inputs[own_inputs + i]] = name_of(outer, node.inputs[node.inputs.size() - captures + i]);
  onnx::GraphProto proto;
  proto.set_name(body.name.empty() ? "body" : body.name);
  for (size_t i = 0; i < own_inputs; ++i) {
    const Value& value = body.value(body.inputs[i]);
    auto& input = *proto.add_input();
    input.set_name(name_of(scope, body.inputs[i]));
    if (value.dtype != DType::undefined) *input.mutable_type() = export_type(value.dtype, value.shape, false);
  }
  export_constants(scope, proto);
  export_nodes(scope, proto);
  export_outputs(scope, proto);
  return proto;
}

/// Every output must be a value of this graph with a name of its own, as runtimes require.
void GraphExporter::export_outputs(Scope& scope, onnx::GraphProto& proto) {
  std::set<std::string> listed;
  for (ValueId id : scope.graph.outputs) {
    const Value& value = scope.graph.value(id);
    std::string name = name_of(scope, id);
    if (scope.taken.count(name) == 0 || !listed.insert(name).second) {
      auto& identity = *proto.add_node();
      identity.set_op_type("Identity");
      identity.add_input(name);
      name = free_name(scope, name);
      identity.add_output(name);
      listed.insert(name);
    }
    auto& output = *proto.add_output();
    output.set_name(name);
    if (value.dtype != DType::undefined)
      *output.mutable_type() = export_type(value.dtype, value.shape, scope.outer == nullptr);
    else if (const auto sequence = sequence_type(scope.graph, id))
      *output.mutable_type() = *sequence;
    else if (scope.outer == nullptr)
      fail("graph output '", name, "' has no known type, which ONNX requires");
  }
}

}  // namespace gcg
