// Functions of ONNX libraries: a function's graph on inputs of some types is recorded node by node, and then used as
// any other recording.
#include <map>

#include "compiler/functions/call_function.h"
#include "compiler/functions/function_library_file.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"
#include "tools/lazy/node.h"

namespace gcc_graph::lazy {
namespace {

/// What an attribute of a graph is here; tensors are not recorded.
Attribute attribute_of(const gcg::Node& node, const std::string& key, const gcg::Attribute& value) {
  return std::visit(
      [&](const auto& v) -> Attribute {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, gcg::TensorRef>)
          gcg::fail(node.op->name, " '", node.name, "': its attribute '", key, "' is a tensor; such are not recorded");
        else
          return v;
      },
      value);
}

class Recorder {
 public:
  Recorder(const gcg::Graph& graph, std::span<const Array> inputs) : graph_(graph) {
    for (size_t i = 0; i < inputs.size(); ++i) values_[graph.inputs[i]] = inputs[i];
  }

  std::vector<Array> run() {
    for (const gcg::NodeId id : graph_.order()) add(graph_.node(id));
    std::vector<Array> outputs;
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

  /// The elements, where the types of the inputs decide them: a shape, axes, limits.
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
    for (const auto& [key, given] : node.attributes) attributes[key] = attribute_of(node, key, given);
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
    const std::vector<Array> made = record(op, arrays, lists);
    for (size_t k = 0; k < made.size(); ++k)
      if (node.outputs[k].valid()) values_[node.outputs[k]] = made[k];
  }

  /// Scales of Resize.
  static bool decides_shape(const gcg::Node& node, size_t operand) {
    return node.op == gcg::find_op("Resize") && operand == 2;
  }

  /// A node whose results the types of the inputs decide, as those of Shape.
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
  std::map<gcg::ValueId, Array> values_;
};

}  // namespace

std::vector<std::string> functions(const std::vector<std::string>& libraries) {
  try {
    std::map<std::string, std::string> where;
    for (const std::string& path : libraries)
      for (const gcg::FunctionSummary& function : gcg::list_functions(path))
        if (const auto [it, fresh] = where.emplace(function.name, path); !fresh)
          gcg::fail("the function '", function.name, "' is in ", it->second, " and in ", path);
    std::vector<std::string> names;
    for (const auto& [name, path] : where) names.push_back(name);
    return names;
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

Recording import_function(const std::string& name, std::span<const Array> like,
                          const std::vector<std::string>& libraries) {
  try {
    std::vector<std::pair<gcg::DType, std::vector<int64_t>>> types;
    std::vector<Array> placeholders;
    for (const Array& a : like) {
      types.emplace_back(static_cast<gcg::DType>(a.dtype()), std::vector<int64_t>(a.shape().begin(), a.shape().end()));
      placeholders.push_back(Array::placeholder(a.dtype(), a.shape()));
    }
    const gcg::Graph graph = gcg::call_function(name, types, libraries);
    return {placeholders, Recorder(graph, placeholders).run()};
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

}  // namespace gcc_graph::lazy
