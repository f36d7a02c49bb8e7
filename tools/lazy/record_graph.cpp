#include "tools/lazy/record_graph.h"

#include <limits>
#include <map>
#include <optional>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"
#include "tools/lazy/infer_types.h"
#include "tools/lazy/node.h"

namespace gcc_graph::lazy {
namespace {

/// Converts an attribute of a graph. Tensors are not recorded.
Attribute attribute_of(const gcg::Node& node, const std::string& key, const gcg::Attribute& value) {
  return std::visit(
      [&](const auto& v) -> Attribute {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, gcg::TensorRef>)
          gcg::fail(node.op->name, " '", node.name, "': its attribute '", key,
                    "' is a tensor, which cannot be recorded");
        else
          return v;
      },
      value);
}

class Recorder {
 public:
  Recorder(const gcg::Graph& graph, std::span<const Array> inputs, Source source) : graph_(graph), source_(source) {
    for (size_t i = 0; i < inputs.size(); ++i) values_[graph.inputs[i]] = inputs[i];
  }

  std::vector<Array> run() {
    for (const gcg::NodeId id : graph_.order()) add(graph_.node(id));
    std::vector<Array> outputs;
    outputs.reserve(graph_.outputs.size());
    for (const gcg::ValueId out : graph_.outputs) outputs.push_back(value(out));
    return outputs;
  }

 private:
  Array value(gcg::ValueId id) {
    Array& known = values_[id];
    if (!known) {
      const gcg::Tensor& tensor = *graph_.value(id).constant;
      known = Array(static_cast<DType>(tensor.dtype()), tensor.shape(), tensor.data());
    }
    return known;
  }

  /// The elements, if the types of the inputs determine them: a shape, axes, limits.
  std::optional<std::vector<int64_t>> integers(const gcg::Value& value) const {
    if (value.dtype != gcg::DType::i64 || !value.shape || value.shape->size() > 1 || !value.contents) return {};
    std::vector<int64_t> numbers;
    for (const gcg::Dim& d : *value.contents) {
      if (!d.is_constant()) return {};
      numbers.push_back(d.constant());
    }
    return numbers;
  }

  void add(const gcg::Node& node) {
    if (add_known(node)) return;
    std::string operands;
    std::vector<Array> arrays;
    std::vector<std::vector<int64_t>> lists;
    Attributes attributes;
    for (const auto& [key, recorded] : node.attributes) attributes[key] = attribute_of(node, key, recorded);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].valid()) {
        operands += '_';
        continue;
      }
      const gcg::Value& operand = graph_.value(node.inputs[k]);
      if (auto numbers = integers(operand)) {
        operands += operand.shape->empty() ? 's' : 'i';
        lists.push_back(std::move(*numbers));
      } else if (operand.is_constant() && operand.dtype == gcg::DType::f32 && decides_shape(node, k)) {
        operands += 'f';
        const auto scales = operand.constant->as<float>();
        attributes["#" + std::to_string(k)] = std::vector<double>(scales.begin(), scales.end());
      } else {
        operands += 'x';
        arrays.push_back(value(node.inputs[k]));
      }
    }
    const std::string domain = node.op->domain;
    const Operator op = Operator::make(domain.empty() ? node.op->name : domain + "::" + node.op->name, operands,
                                       attributes, static_cast<int>(node.outputs.size()));
    const std::vector<Array> results = record(op, arrays, lists, source_);
    for (size_t k = 0; k < results.size(); ++k)
      if (node.outputs[k].valid()) values_[node.outputs[k]] = results[k];
  }

  /// True for the scales of Resize.
  static bool decides_shape(const gcg::Node& node, size_t operand) {
    return node.op == gcg::find_op("Resize") && operand == 2;
  }

  /// Adds a node whose results the types of the inputs determine, such as Shape. Returns false for other nodes.
  bool add_known(const gcg::Node& node) {
    std::vector<std::pair<gcg::ValueId, Array>> known;
    for (const gcg::ValueId out : node.outputs) {
      if (!out.valid()) return false;
      const auto numbers = integers(graph_.value(out));
      if (!numbers) return false;
      known.emplace_back(out, Array(DType::i64, gcg::to_extents(*graph_.value(out).shape), numbers->data()));
    }
    for (auto& [out, array] : known) values_[out] = std::move(array);
    return true;
  }

  const gcg::Graph& graph_;
  const Source source_;
  std::map<gcg::ValueId, Array> values_;
};

}  // namespace

std::vector<Array> record_graph(const gcg::Graph& graph, std::span<const Array> inputs, Source source) {
  return Recorder(graph, inputs, source).run();
}

bool expands(const Op& op) { return op.def != nullptr && op.def->infer == nullptr && op.def->upgrade != nullptr; }

std::vector<Array> record_expanded(const Op& op, std::span<Node* const> inputs, const Extents* ints, Source source) {
  gcg::Graph graph;
  std::vector<Array> arrays;
  arrays.reserve(inputs.size());
  for (Node* input : inputs) {
    retain(input, Node::kHandle);
    arrays.emplace_back(input);
    graph.inputs.push_back(add_operand(graph, *input->type));
  }
  ConstantOperands constants(graph);
  gcg::Node node;
  node.op = op.def;
  node.name = op.name;
  node.inputs = operands_of(graph, op, graph.inputs, ints, constants);
  node.attributes = op.attributes;
  for (int k = 0; k < op.outputs; ++k) {
    gcg::Value value;
    value.name = "result " + std::to_string(k);
    node.outputs.push_back(graph.add_value(std::move(value)));
  }
  graph.outputs = node.outputs;
  try {
    gcg::UpgradeContext upgrade{graph, node, std::numeric_limits<int>::max()};
    op.def->upgrade(upgrade);
    graph.add_node(std::move(node));
    gcg::infer_graph(graph);
  } catch (const gcg::CompileError& error) {
    throw Error(gcg::concat(op.name, ": ", error.what()));
  }
  return record_graph(graph, arrays, source);
}

}  // namespace gcc_graph::lazy
