#include "compiler/import/training_info.h"

#include <algorithm>
#include <set>

#include "compiler/ir/states.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(item.name());
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Reads bindings of `what` into `out`, by key.
void read(const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& bindings, const char* what,
          const std::vector<std::string>& initializers, const std::vector<std::string>& outputs,
          std::map<std::string, std::string>& out) {
  for (const auto& binding : bindings) {
    if (!contains(initializers, binding.key()))
      fail("training_info: ", what, " '", binding.key(), "' is not an initializer",
           nearest(binding.key(), initializers));
    if (!contains(outputs, binding.value()))
      fail("training_info: ", what, " of '", binding.key(), "': there is no output '", binding.value(), "'",
           nearest(binding.value(), outputs));
    if (!out.emplace(binding.key(), binding.value()).second)
      fail("training_info: ", what, " '", binding.key(), "' is bound twice");
  }
}

ValueId value_called(const Graph& graph, const std::string& name) {
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (graph.value(ValueId(i)).name == name) return ValueId(i);
  fail("training_info: the graph has no value '", name, "'");
}

/// Erases the nodes that no output needs.
void prune(Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  std::set<ValueId> needed(graph.outputs.begin(), graph.outputs.end());
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.node(*id);
    const bool is_needed = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](ValueId v) { return v.valid() && needed.count(v) != 0; });
    if (is_needed) {
      needed.insert(node.inputs.begin(), node.inputs.end());
    } else {
      graph.erase_node(*id);
    }
  }
}

/// Makes a state of the constant. The graph only reads it, and the constant is its first value.
State state_of(Graph& graph, const std::string& name) {
  Value& value = graph.value(value_called(graph, name));
  if (!value.is_constant()) fail("training_info: '", name, "' is not an initializer that the compiler supports");
  State state;
  state.name = name;
  state.scope = StateScope::program;
  state.initial = value.constant;
  state.input = graph.inputs.size();
  state.output = kNotWritten;
  value.constant = nullptr;
  graph.inputs.push_back(value_called(graph, name));
  return state;
}

}  // namespace

std::optional<TrainingInfo> TrainingInfo::take(onnx::ModelProto& model) {
  if (model.training_info_size() == 0) return std::nullopt;
  if (model.training_info_size() > 1)
    fail("the model has ", model.training_info_size(), " training_info entries; one is supported");
  if (model.training_info(0).update_binding_size() == 0) return std::nullopt;
  TrainingInfo out;
  onnx::TrainingInfoProto info;
  info.Swap(model.mutable_training_info(0));
  model.clear_training_info();
  out.read_bindings(model, info);
  out.join(*model.mutable_graph(), *info.mutable_algorithm());
  if (info.initialization_binding_size() == 0) return out;
  out.initialization_ = std::make_shared<onnx::ModelProto>();
  onnx::ModelProto& start = *out.initialization_;
  start.set_ir_version(model.ir_version());
  *start.mutable_opset_import() = model.opset_import();
  *start.mutable_functions() = model.functions();
  start.mutable_graph()->Swap(info.mutable_initialization());
  return out;
}

void TrainingInfo::read_bindings(const onnx::ModelProto& model, const onnx::TrainingInfoProto& info) {
  std::vector<std::string> initializers = names_of(model.graph().initializer()),
                           outputs = names_of(model.graph().output());
  for (const std::string& name : names_of(info.algorithm().initializer())) initializers.push_back(name);
  for (const std::string& name : names_of(info.algorithm().output())) outputs.push_back(name);
  read(info.update_binding(), "update_binding", initializers, outputs, updates_);
  read(info.initialization_binding(), "initialization_binding", initializers, names_of(info.initialization().output()),
       resets_);
  for (const auto* bindings : {&info.update_binding(), &info.initialization_binding()})
    for (const auto& binding : *bindings)
      if (!contains(keys_, binding.key())) keys_.push_back(binding.key());
}

void TrainingInfo::join(onnx::GraphProto& graph, onnx::GraphProto& algorithm) {
  model_outputs_ = names_of(graph.output());
  std::set<std::string> updates, known;
  for (const auto& [key, value] : updates_) updates.insert(value);
  for (const std::string& name : names_of(algorithm.output()))
    if (updates.count(name) == 0) step_outputs_.push_back(name);
  for (const auto& node : graph.node()) known.insert(node.output().begin(), node.output().end());
  for (const std::string& name : names_of(graph.initializer())) known.insert(name);
  for (const auto& input : graph.input()) {
    model_inputs_.push_back(input.name());
    known.insert(input.name());
  }
  for (auto& input : *algorithm.mutable_input())  // an input with the name of a model value reads that value
    if (known.count(input.name()) == 0) graph.add_input()->Swap(&input);
  for (auto& tensor : *algorithm.mutable_initializer()) graph.add_initializer()->Swap(&tensor);
  for (auto& tensor : *algorithm.mutable_sparse_initializer()) graph.add_sparse_initializer()->Swap(&tensor);
  for (auto& node : *algorithm.mutable_node()) graph.add_node()->Swap(&node);
  for (auto& output : *algorithm.mutable_output())
    if (!contains(model_outputs_, output.name())) graph.add_output()->Swap(&output);
}

std::vector<Graph> TrainingInfo::entries(const Graph& joined) const {
  std::vector<Graph> out;
  Graph model = joined.clone();
  std::erase_if(model.inputs, [&](ValueId id) { return !contains(model_inputs_, model.value(id).name); });
  out.push_back(entry(model, "infer", model_outputs_, {}));
  out.push_back(entry(joined, "train", step_outputs_, updates_));
  return out;
}

Graph TrainingInfo::entry(const Graph& joined, const std::string& name, const std::vector<std::string>& outputs,
                          const std::map<std::string, std::string>& updates) const {
  Graph graph = joined.clone();
  graph.name = name;
  graph.outputs.clear();
  for (const std::string& output : outputs) graph.outputs.push_back(value_called(graph, output));
  for (const auto& [key, value] : updates) graph.outputs.push_back(value_called(graph, value));
  prune(graph);
  graph.outputs.resize(outputs.size());
  const auto users = graph.users();
  for (const std::string& key : keys_) {
    const ValueId constant = value_called(graph, key);
    const auto update = updates.find(key);
    if (update == updates.end() && users[static_cast<size_t>(constant.index)].empty() && !graph.is_output(constant))
      continue;
    State state = state_of(graph, key);
    if (update != updates.end()) {
      state.output = graph.outputs.size();
      graph.outputs.push_back(value_called(graph, update->second));
    }
    graph.states.push_back(std::move(state));
  }
  return graph;
}

Graph TrainingInfo::initialize(Graph imported, const Graph& joined) const {
  imported.outputs.clear();
  imported.name = "initialize";
  for (const auto& [key, value] : resets_) {
    const ValueId result = value_called(imported, value);
    const ValueId constant = value_called(joined, key);
    Value before;
    before.name = imported.unique_name(key);
    before.dtype = joined.value(constant).dtype;
    before.shape = joined.value(constant).shape;
    State state;
    state.name = key;
    state.scope = StateScope::program;
    state.initial = joined.value(constant).constant;
    state.input = imported.inputs.size();
    state.output = imported.outputs.size();
    imported.inputs.push_back(imported.add_value(std::move(before)));
    imported.outputs.push_back(result);
    imported.states.push_back(std::move(state));
  }
  return imported;
}

}  // namespace gcg
