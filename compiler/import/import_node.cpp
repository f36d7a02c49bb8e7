// One NodeProto -> one Node, a constant, or a row for an unsupported node.
#include <algorithm>

#include "compiler/import/graph_importer.h"
#include "compiler/import/tensor_import.h"
#include "compiler/ops/op_attributes.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

/// Functions that call functions can expand a small file into a huge graph.
constexpr int64_t kMostNodes = 500'000;

std::string count_text(int least, int most) {
  if (most < 0) return concat("at least ", least);
  return least == most ? concat(least) : concat(least, " to ", most);
}

/// The reason why the node's number of inputs or outputs does not fit; empty if both fit.
std::string why_not_arity(const Node& node) {
  const OpDef& op = *node.op;
  const auto failure = [](size_t count, int least, int most) {
    return static_cast<int>(count) < least || (most >= 0 && static_cast<int>(count) > most);
  };
  if (failure(node.inputs.size() - static_cast<size_t>(node.captures), op.min_inputs, op.max_inputs))
    return concat("it has ", node.inputs.size(), " inputs, but takes ", count_text(op.min_inputs, op.max_inputs));
  if (failure(node.outputs.size(), op.min_outputs, op.max_outputs))
    return concat("it has ", node.outputs.size(), " outputs, but makes ", count_text(op.min_outputs, op.max_outputs));
  return {};
}

/// The attributes that hold the subgraphs of a control-flow operator, in the order of Node::bodies.
std::vector<std::string> body_attributes(const OpDef* op, const onnx::NodeProto& proto) {
  if (op == nullptr || op->kind != OpKind::control) return {};
  const std::string_view name = op->name;
  if (name == "If") return {"then_branch", "else_branch"};
  if (name != "FlexAttention") return {"body"};
  std::vector<std::string> required;  // the subgraphs of FlexAttention are optional
  for (const char* body : {"score_mod", "prob_mod"})
    if (std::any_of(proto.attribute().begin(), proto.attribute().end(),
                    [&](const auto& a) { return a.name() == body; }))
      required.emplace_back(body);
  return required;
}

bool gives_strings(const Labels& labels, const Node& node) {
  for (const auto& body : node.bodies)
    for (const ValueId output : body->outputs)
      if (labels.of(*body, output) != nullptr) return true;
  return false;
}

void drop_omitted_tail(std::vector<ValueId>& ids) {
  while (!ids.empty() && !ids.back().valid()) ids.pop_back();
}

/// Adds the omitted outputs of a Split, because these parts have an extent even if nothing reads them.
void keep_omitted_tail(Graph& graph, Node& node) {
  for (size_t i = node.outputs.size(); i-- > 0 && !node.outputs[i].valid();) {
    Value part;
    part.name = graph.unique_name(concat(node.name, ".", i));
    node.outputs[i] = graph.add_value(std::move(part));
  }
}

}  // namespace

std::string node_name(const Environment& environment, const onnx::NodeProto& proto) {
  std::string name = proto.name();
  for (int i = 0; name.empty() && i < proto.output_size(); ++i) name = proto.output(i);
  return environment.prefix + name;
}

const CustomOp* GraphImporter::custom_op_of(const onnx::NodeProto& proto) const {
  for (const CustomOp& op : custom_ops_)
    if (op.name == proto.op_type() && op.domain == normal_domain(proto.domain())) return &op;
  return nullptr;
}

std::string GraphImporter::why_not(Scope& scope, const onnx::NodeProto& proto) const {
  const std::string domain = normal_domain(proto.domain());
  const auto version = scope.environment.opsets.find(domain);
  const OpDef* op = domain == "gart" ? nullptr : find_op(proto.op_type(), domain);
  if (op == nullptr)
    return concat(
        "there is no operator or function of this name; --custom-op declares an operator of the application, "
        "--functions names libraries of functions",
        nearest_functions(proto));
  if (version == scope.environment.opsets.end()) return "the model imports no opset of this domain";
  if (version->second < op->since)
    return concat("version ", version->second, " of this operator is too old; ", op->since, " and up are supported");
  return {};
}

void GraphImporter::reject_without_outputs(Scope& scope, const onnx::NodeProto& proto, const std::string& why) {
  const std::string domain = normal_domain(proto.domain());
  const auto version = scope.environment.opsets.find(domain);
  unsupported_.push_back({node_name(scope.environment, proto), proto.op_type(), domain,
                          version == scope.environment.opsets.end() ? 0 : version->second, why});
}

void GraphImporter::reject(Scope& scope, const onnx::NodeProto& proto, const std::string& why) {
  reject_without_outputs(scope, proto, why);
  for (const std::string& output : proto.output())
    if (!output.empty()) add_value(scope, output);
}

void GraphImporter::import_node(Scope& scope, const onnx::NodeProto& proto) {
  const std::string name = node_name(scope.environment, proto);
  if (++node_count_ > kMostNodes) fail("the model has more than ", kMostNodes, " nodes once its functions are inlined");
  std::vector<ValueId> inputs;
  for (const std::string& input : proto.input())
    inputs.push_back(input.empty()
                         ? ValueId()
                         : value_of(scope, input, concat("node '", name, "' (", proto.op_type(), ")"), &proto));
  const CustomOp* custom = custom_op_of(proto);
  if (const onnx::FunctionProto* function = function_of(proto); function != nullptr && custom == nullptr)
    return import_call(scope, proto, *function);
  note_labels(name, properties_of(proto));
  if (proto.op_type() == "Constant" && normal_domain(proto.domain()).empty()) return import_constant(scope, proto);
  if (const std::string why = custom != nullptr ? "" : why_not(scope, proto); !why.empty())
    return reject(scope, proto, why);

  Graph& graph = scope.body.graph;
  Node node;
  node.op = custom != nullptr ? &op_gart_Custom : find_op(proto.op_type(), normal_domain(proto.domain()));
  if (custom != nullptr) node.attributes[kDeclarationAttribute] = custom->text;
  node.name = name;
  for (int i = 0; i < proto.input_size(); ++i)
    if (!inputs[static_cast<size_t>(i)].valid()) check_argument(scope, proto, i, *node.op);
  node.inputs = std::move(inputs);
  drop_omitted_tail(node.inputs);
  const bool attributes_known = import_attributes(scope, proto, node);
  for (const std::string& output : proto.output())
    node.outputs.push_back(output.empty() ? ValueId() : add_value(scope, output));
  if (node.op == &op_Split)
    keep_omitted_tail(graph, node);
  else
    drop_omitted_tail(node.outputs);
  if (!attributes_known) return;
  try {
    if (node.op->upgrade != nullptr) {
      UpgradeContext upgrade{graph, node, static_cast<int>(scope.environment.opsets.at(normal_domain(proto.domain())))};
      node.op->upgrade(upgrade);
    }
    if (const std::string why = why_not_arity(node); !why.empty()) fail(why);
    if (const std::string why = labels_.carry(graph, node); !why.empty()) fail(why);
  } catch (const InternalError&) {
    throw;
  } catch (const CompileError& error) {
    return reject_without_outputs(scope, proto, error.what());
  }
  graph.add_node(std::move(node));
}

bool GraphImporter::import_attributes(Scope& scope, const onnx::NodeProto& proto, Node& node) {
  const std::vector<std::string> body_names = body_attributes(node.op, proto);
  std::vector<const onnx::GraphProto*> bodies(body_names.size());
  std::set<std::string> seen;
  std::string why;
  for (const onnx::AttributeProto& written : proto.attribute()) {
    const onnx::AttributeProto* attribute = &written;
    if (!seen.insert(written.name()).second) fail("node '", node.name, "' has attribute '", written.name(), "' twice");
    if (!written.ref_attr_name().empty()) {
      const auto argument = scope.environment.arguments.find(written.ref_attr_name());
      // The call omits this attribute, so the node omits it too.
      if (argument == scope.environment.arguments.end()) continue;
      attribute = argument->second;
    }
    ImportedAttribute imported = import_attribute(*attribute, node.name);
    if (why.empty() && node.op != nullptr && node.op != &op_gart_Custom)
      why = why_not_attribute(*node.op, written.name(), imported.value ? &*imported.value : nullptr);
    const auto body = std::find(body_names.begin(), body_names.end(), written.name());
    if (imported.graph != nullptr && body != body_names.end() && attribute == &written)
      bodies[static_cast<size_t>(body - body_names.begin())] = imported.graph;
    else if (imported.value)
      node.attributes[written.name()] = std::move(*imported.value);
    else if (why.empty())
      why = imported.graph != nullptr ? concat("attribute '", written.name(), "' is a graph") : imported.why;
  }
  for (size_t i = 0; i < bodies.size(); ++i)
    if (bodies[i] == nullptr && why.empty()) why = concat("it has no attribute '", body_names[i], "'");
  if (!why.empty()) reject_without_outputs(scope, proto, why);
  if (std::count(bodies.begin(), bodies.end(), nullptr) == 0) import_bodies(scope, bodies, node);
  if (why.empty() && gives_strings(labels_, node))
    reject_without_outputs(scope, proto, why = "a subgraph gives strings; only numbers are supported");
  if (node.op == &op_FlexAttention && !body_names.empty()) node.attributes["gart.bodies"] = body_names;
  return why.empty();
}

void GraphImporter::import_bodies(Scope& scope, const std::vector<const onnx::GraphProto*>& graphs, Node& node) {
  std::vector<ValueId> captures;
  std::vector<std::map<ValueId, ValueId>> entered;
  for (const onnx::GraphProto* proto : graphs) {
    node.bodies.push_back(std::make_unique<Graph>());
    Graph& graph = *node.bodies.back();
    graph.name = proto->name();
    Body body{graph, &scope.body, &captures, &labels_};
    Scope inner{body, scope.environment, &scope};
    for (const auto& input : proto->input()) graph.inputs.push_back(add_value(inner, input.name()));
    import_initializers(inner, *proto);
    import_nodes(inner, proto->node());
    for (const auto& output : proto->output())
      graph.outputs.push_back(
          value_of(inner, output.name(), concat("the body of node '", node.name, "' (", node.op->name, ")"), nullptr));
    entered.push_back(std::move(body.from_outer));
  }
  for (ValueId capture : captures) {
    node.inputs.push_back(capture);
    for (size_t i = 0; i < graphs.size(); ++i) {
      Graph& graph = *node.bodies[i];
      const auto known = entered[i].find(capture);
      Value unused;
      if (known == entered[i].end()) unused.name = graph.unique_name(scope.body.graph.value(capture).name);
      graph.inputs.push_back(known != entered[i].end() ? known->second : graph.add_value(std::move(unused)));
    }
  }
  node.captures = static_cast<int>(captures.size());
}

/// Returns false if the Constant holds no strings.
bool GraphImporter::import_constant_strings(Scope& scope, const onnx::NodeProto& proto) {
  if (proto.attribute_size() != 1 || proto.output_size() != 1) return false;
  const onnx::AttributeProto& value = proto.attribute(0);
  onnx::TensorProto tensor = value.t();
  if (value.name() == "value_string" && value.has_s()) {
    tensor.add_string_data(value.s());
  } else if (value.name() == "value_strings") {
    tensor.add_dims(value.strings_size());
    *tensor.mutable_string_data() = value.strings();
  } else if (value.name() != "value" || tensor.data_type() != onnx::TensorProto::STRING) {
    return false;
  }
  tensor.set_name(proto.output(0));
  add_strings(scope, proto.output(0), tensor);
  return true;
}

void GraphImporter::import_constant(Scope& scope, const onnx::NodeProto& proto) {
  const std::string name = node_name(scope.environment, proto);
  if (proto.output_size() != 1) fail("node '", name, "' (Constant) has ", proto.output_size(), " outputs, but makes 1");
  if (import_constant_strings(scope, proto)) return;
  Node node;  // only holds the attributes; it is not added to the graph
  node.name = name;
  if (!import_attributes(scope, proto, node)) {
    add_value(scope, proto.output(0));
    return;
  }
  if (node.attributes.size() != 1)
    return reject(scope, proto,
                  concat("it has ", node.attributes.size(), " attributes; it must have one, which holds its value"));
  const auto& [key, value] = *node.attributes.begin();
  if (!key.starts_with("value") && key != "sparse_value")
    return reject(scope, proto, concat("attribute '", key, "' holds no value of a Constant"));
  Tensor tensor;
  if (const auto* t = std::get_if<TensorRef>(&value))
    tensor = **t;
  else if (const auto* i = std::get_if<int64_t>(&value))
    tensor = Tensor::scalar_i64(*i);
  else if (const auto* is = std::get_if<std::vector<int64_t>>(&value))
    tensor = Tensor::vector_i64(*is);
  else if (const auto* f = std::get_if<double>(&value))
    tensor = Tensor::from<float>(DType::f32, {}, {static_cast<float>(*f)});
  else if (const auto* fs = std::get_if<std::vector<double>>(&value))
    tensor = Tensor::from(DType::f32, {static_cast<int64_t>(fs->size())}, std::vector<float>(fs->begin(), fs->end()));
  else
    return reject(scope, proto, concat("attribute '", key, "' holds strings; string tensors are not supported"));
  add_value(scope, proto.output(0), std::make_shared<Tensor>(std::move(tensor)));
}

}  // namespace gcg
