#include "gcc_graph/graph.h"

#include "compiler/gir/gir.h"
#include "compiler/import/import.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {

using detail::GraphState;
using detail::guarded;

namespace {

gcg::ValueId id_of(int32_t id) { return gcg::ValueId(int64_t{id}); }

const gcg::OpDef& def_of(const std::string& name) {
  const size_t colon = name.find("::");
  const gcg::OpDef* def =
      colon == std::string::npos ? gcg::find_op(name) : gcg::find_op(name.substr(colon + 2), name.substr(0, colon));
  if (def == nullptr || std::string_view(def->domain) == "gart") gcg::fail("there is no operator '", name, "'");
  if (def->kind == gcg::OpKind::control) gcg::fail(name, " has bodies: import a model that contains it instead");
  return *def;
}

gcg::Shape shape_of(const std::string& name, const std::vector<std::string>& dims) {
  gcg::Shape shape;
  for (const std::string& text : dims) {
    const std::optional<gcg::Dim> dim = gcg::Dim::parse(text);
    if (!dim) gcg::fail("input '", name, "': '", text, "' is not an extent");
    shape.push_back(*dim);
  }
  return shape;
}

std::shared_ptr<GraphState> imported(gcg::ImportedModel model) {
  auto state = std::make_shared<GraphState>();
  state->graph = std::move(model.graph);
  state->labels = std::move(model.labels);
  state->metadata = std::move(model.metadata);
  state->separated = std::move(model.separated);
  state->source_hash = std::move(model.source_hash);
  return state;
}

}  // namespace

DType Value::dtype() const { return static_cast<DType>(state_->graph.value(id_of(id_)).dtype); }
bool Value::has_rank() const { return state_->graph.value(id_of(id_)).shape.has_value(); }
std::string Value::name() const { return state_->graph.value(id_of(id_)).name; }

std::vector<std::string> Value::shape() const {
  const gcg::Value& value = state_->graph.value(id_of(id_));
  if (!value.shape) throw Error("the rank of '" + value.name + "' depends on data");
  std::vector<std::string> dims;
  for (const gcg::Dim& d : *value.shape) dims.push_back(d.str());
  return dims;
}

std::string Value::text() const {
  const gcg::Value& value = state_->graph.value(id_of(id_));
  return gcg::concat(gcg::name_of(value.dtype), value.shape ? gcg::str(*value.shape) : "[?]");
}

Graph::Graph(const std::string& name) : state_(std::make_shared<GraphState>()) { state_->graph.name = name; }

Graph Graph::import_onnx(const std::string& path, const std::vector<std::string>& custom_ops,
                         const std::vector<std::string>& functions, const std::vector<std::string>& outputs) {
  return guarded([&] {
    std::vector<gcg::CustomOp> declared;
    for (const std::string& text : custom_ops) declared.push_back(gcg::parse_custom_op(text));
    Graph graph;
    graph.state_ = imported(gcg::import_onnx(path, {}, declared, functions, outputs));
    return graph;
  });
}

Graph Graph::import_onnx(std::span<const uint8_t> bytes) {
  return guarded([&] {
    Graph graph;
    graph.state_ = imported(gcg::import_onnx(bytes));
    return graph;
  });
}

Value Graph::input(const std::string& name, DType dtype, const std::vector<std::string>& dims) {
  return guarded([&] {
    gcg::Graph& graph = state_->graph;
    for (const gcg::ValueId in : graph.inputs)
      if (graph.value(in).name == name) gcg::fail("there are two inputs named '", name, "'");
    gcg::Value value;
    value.name = name;
    value.dtype = static_cast<gcg::DType>(dtype);
    value.shape = shape_of(name, dims);
    graph.inputs.push_back(graph.add_value(std::move(value)));
    return Value(state_, graph.inputs.back().index);
  });
}

Value Graph::constant(DType dtype, const std::vector<int64_t>& shape, const void* data, const std::string& name) {
  return guarded([&] {
    gcg::Tensor tensor(static_cast<gcg::DType>(dtype), shape);
    if (tensor.bytes() > 0) std::memcpy(tensor.mutable_data(), data, static_cast<size_t>(tensor.bytes()));
    gcg::Graph& graph = state_->graph;
    return Value(state_,
                 graph.add_constant(graph.unique_name(name.empty() ? "constant" : name), std::move(tensor)).index);
  });
}

void Graph::check_count(const std::vector<int64_t>& shape, size_t elements) {
  int64_t count = 1;
  for (const int64_t e : shape) count *= e;
  if (count != static_cast<int64_t>(elements))
    throw Error(
        gcg::concat("a constant of ", gcg::str(gcg::to_shape(shape)), " has ", count, " elements, not ", elements));
}

Value Graph::op(const std::string& name, const std::vector<Value>& operands, const Attributes& attributes,
                const std::string& node_name) {
  return ops(name, operands, 1, attributes, node_name)[0];
}

std::vector<Value> Graph::ops(const std::string& name, const std::vector<Value>& operands, int outputs,
                              const Attributes& attributes, const std::string& node_name) {
  return guarded([&] {
    gcg::Graph& graph = state_->graph;
    const gcg::OpDef& def = def_of(name);
    std::vector<gcg::ValueId> inputs;
    for (const Value& v : operands) {
      if (v && v.state_ != state_) gcg::fail(name, ": operand ", inputs.size(), " is a value of another graph");
      inputs.push_back(v ? id_of(v.id_) : gcg::ValueId());
    }
    while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
    std::map<std::string, gcg::Attribute> converted;
    for (const auto& [key, value] : attributes)
      converted[key] = std::visit([](const auto& v) { return gcg::Attribute(v); }, value);
    const std::string called = graph.unique_name(node_name.empty() ? name : node_name);
    const gcg::NodeId id = graph.add_node(def, called, inputs, outputs, std::move(converted));
    const std::vector<gcg::ValueId> results = graph.node(id).outputs;
    try {
      gcg::infer_node(graph, id, graph);
    } catch (...) {
      graph.erase_node(id);  // the graph is unchanged after an error
      throw;
    }
    std::vector<Value> out;
    for (const gcg::ValueId v : results) out.push_back(Value(state_, v.index));
    return out;
  });
}

void Graph::output(const std::string& name, const Value& value) {
  guarded([&] {
    gcg::Graph& graph = state_->graph;
    if (!value || value.state_ != state_) gcg::fail("output '", name, "' is not a value of this graph");
    for (const gcg::ValueId out : graph.outputs)
      if (graph.value(out).name == name) gcg::fail("there are two outputs named '", name, "'");
    gcg::ValueId id = id_of(value.id_);
    if (!graph.value(id).producer.valid() || graph.is_output(id))
      // An output needs a value of its own; an input, a constant or another output cannot also be this output.
      id = id_of(op("Identity", {value}).id_);
    graph.value(id).name = name;
    graph.outputs.push_back(id);
    return 0;
  });
}

namespace {

template <class Make>
std::vector<Value> values(const std::vector<gcg::ValueId>& ids, Make make) {
  std::vector<Value> out;
  for (const gcg::ValueId id : ids) out.push_back(make(id.index));
  return out;
}

}  // namespace

std::vector<Value> Graph::inputs() const {
  return values(state_->graph.inputs, [&](int32_t id) { return Value(state_, id); });
}
std::vector<Value> Graph::outputs() const {
  return values(state_->graph.outputs, [&](int32_t id) { return Value(state_, id); });
}
int64_t Graph::node_count() const { return static_cast<int64_t>(state_->graph.order().size()); }
std::string Graph::text() const { return gcg::print_graph(state_->graph, gcg::GirData::elided); }

}  // namespace gcc_graph
