#include "compiler/ir/graph.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "compiler/support/error.h"

namespace gcg {
namespace {

template <class T>
const T* find_attribute(const Node& node, const std::string& key) {
  const auto it = node.attributes.find(key);
  if (it == node.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&it->second);
  if (!value) fail("node '", node.name, "': attribute '", key, "' has the wrong type");
  return value;
}

}  // namespace

int64_t Node::int_attribute(const std::string& key, int64_t otherwise) const {
  const auto* v = find_attribute<int64_t>(*this, key);
  return v ? *v : otherwise;
}

double Node::float_attribute(const std::string& key, double otherwise) const {
  const auto* v = find_attribute<double>(*this, key);
  return v ? *v : otherwise;
}

std::string Node::string_attribute(const std::string& key, const std::string& otherwise) const {
  const auto* v = find_attribute<std::string>(*this, key);
  return v ? *v : otherwise;
}

std::vector<int64_t> Node::ints_attribute(const std::string& key, const std::vector<int64_t>& otherwise) const {
  const auto* v = find_attribute<std::vector<int64_t>>(*this, key);
  return v ? *v : otherwise;
}

std::vector<double> Node::floats_attribute(const std::string& key, const std::vector<double>& otherwise) const {
  const auto* v = find_attribute<std::vector<double>>(*this, key);
  return v ? *v : otherwise;
}

std::vector<std::string> Node::strings_attribute(const std::string& key,
                                                 const std::vector<std::string>& otherwise) const {
  const auto* v = find_attribute<std::vector<std::string>>(*this, key);
  return v ? *v : otherwise;
}

TensorRef Node::tensor_attribute(const std::string& key) const {
  const auto* v = find_attribute<TensorRef>(*this, key);
  return v ? *v : nullptr;
}

Graph Graph::clone() const {
  Graph out;
  out.name = name;
  out.inputs = inputs;
  out.outputs = outputs;
  out.states = states;
  out.constraints = constraints;
  out.values_ = values_;
  out.names_ = names_;
  for (const Node& n : nodes_) {
    Node copy{n.op, n.name, n.inputs, n.outputs, n.attributes, {}, n.captures, n.erased};
    for (const auto& body : n.bodies) copy.bodies.push_back(std::make_unique<Graph>(body->clone()));
    out.nodes_.push_back(std::move(copy));
  }
  return out;
}

ValueId Graph::add_value(Value v) {
  v.name = unique_name(v.name.empty() ? "v" : v.name);
  names_.emplace(v.name, 1);
  const ValueId id(value_count());
  values_.push_back(std::move(v));
  return id;
}

ValueId Graph::add_constant(std::string constant_name, Tensor tensor) {
  Value v;
  v.name = std::move(constant_name);
  v.dtype = tensor.dtype();
  v.shape = to_shape(tensor.shape());
  v.constant = std::make_shared<const Tensor>(std::move(tensor));
  return add_value(std::move(v));
}

NodeId Graph::add_node(Node n) {
  const NodeId id(node_count());
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (!n.outputs[i].valid()) continue;
    Value& v = value(n.outputs[i]);
    GCG_CHECK(!v.producer.valid() && !v.is_constant(), "value '", v.name, "' has a producer already");
    v.producer = id;
    v.output_index = static_cast<int>(i);
  }
  nodes_.push_back(std::move(n));
  return id;
}

NodeId Graph::add_node(const OpDef& definition, std::string node_name, std::vector<ValueId> node_inputs,
                       int output_count, std::map<std::string, Attribute> attributes) {
  Node n;
  n.op = &definition;
  n.name = std::move(node_name);
  n.inputs = std::move(node_inputs);
  n.attributes = std::move(attributes);
  for (int i = 0; i < output_count; ++i) {
    Value v;
    v.name = n.name;
    n.outputs.push_back(add_value(std::move(v)));
  }
  return add_node(std::move(n));
}

void Graph::erase_node(NodeId id) {
  Node& n = node(id);
  for (ValueId out : n.outputs)
    if (out.valid()) value(out).producer = NodeId();
  n = Node();
  n.erased = true;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  for (Node& n : nodes_) std::replace(n.inputs.begin(), n.inputs.end(), from, to);
  // An output keeps its name, which belongs to the caller's interface. The replacing value takes over that name.
  if (is_output(from) && !is_output(to) && std::find(inputs.begin(), inputs.end(), to) == inputs.end())
    std::swap(value(from).name, value(to).name);
  std::replace(outputs.begin(), outputs.end(), from, to);
}

std::string Graph::unique_name(const std::string& base) {
  const auto it = names_.find(base);
  if (it == names_.end()) return base;
  for (int64_t& next = it->second;; ++next) {
    std::string candidate = base + "." + std::to_string(next);
    if (names_.count(candidate) == 0) return candidate;
  }
}

std::vector<NodeId> Graph::order() const {
  std::vector<int> missing(nodes_.size(), 0);
  std::vector<std::vector<int32_t>> readers(nodes_.size());
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  size_t live = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].erased) continue;
    ++live;
    for (ValueId in : nodes_[i].inputs) {
      if (!in.valid() || !value(in).producer.valid()) continue;
      ++missing[i];
      readers[static_cast<size_t>(value(in).producer.index)].push_back(static_cast<int32_t>(i));
    }
    if (missing[i] == 0) ready.push(static_cast<int32_t>(i));
  }
  std::vector<NodeId> out;
  out.reserve(live);
  while (!ready.empty()) {
    const int32_t i = ready.top();
    ready.pop();
    out.emplace_back(i);
    for (int32_t reader : readers[static_cast<size_t>(i)])
      if (--missing[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  if (out.size() != live) fail("graph '", name, "' has a cycle");
  return out;
}

std::vector<std::vector<NodeId>> Graph::users() const {
  std::vector<std::vector<NodeId>> out(values_.size());
  for (size_t i = 0; i < nodes_.size(); ++i)
    for (ValueId in : nodes_[i].inputs)
      if (in.valid()) out[static_cast<size_t>(in.index)].emplace_back(static_cast<int64_t>(i));
  return out;
}

bool Graph::is_output(ValueId id) const { return std::find(outputs.begin(), outputs.end(), id) != outputs.end(); }

}  // namespace gcg
