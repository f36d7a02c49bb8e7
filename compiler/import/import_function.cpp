// Model-local functions: every call is replaced by the function's nodes.
#include <algorithm>

#include "compiler/import/graph_importer.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

constexpr size_t kDeepestCalls = 128;

std::string name_of(const onnx::FunctionProto& function) { return full_name(key_of(function)); }

/// "a -> b -> a"
std::string path_of(const std::vector<const onnx::FunctionProto*>& calls, const onnx::FunctionProto& again) {
  std::string path;
  for (auto call = std::find(calls.begin(), calls.end(), &again); call != calls.end(); ++call)
    path += name_of(**call) + " -> ";
  return path + name_of(again);
}

std::string type_text(const onnx::TypeProto& type) {
  const auto dtype = dtype_from_onnx(type.tensor_type().elem_type());
  std::string text(dtype ? gcg::name_of(*dtype) : "another type");
  if (!type.tensor_type().has_shape()) return text;
  const char* separator = "[";
  for (const auto& dim : type.tensor_type().shape().dim()) {
    text += separator + (dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param());
    separator = ",";
  }
  return text + (*separator == '[' ? "[]" : "]");
}

/// True if the given value has another element type, another rank or another constant extent.
bool differs(const Value& argument, const onnx::TypeProto& type) {
  const auto& tensor = type.tensor_type();
  if (dtype_to_onnx(argument.dtype) != tensor.elem_type()) return true;
  if (!argument.shape || !tensor.has_shape()) return false;
  if (static_cast<int>(argument.shape->size()) != tensor.shape().dim_size()) return true;
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const auto& dim = tensor.shape().dim(i);
    const Dim& extent = (*argument.shape)[static_cast<size_t>(i)];
    if (dim.has_dim_value() && extent.is_constant() && !extent.is(dim.dim_value())) return true;
  }
  return false;
}

}  // namespace

void GraphImporter::collect_functions() {
  collect_functions(*model_, "the model");
  for (const FunctionLibrary& library : libraries_) collect_functions(*library.model, library.path);
}

void GraphImporter::collect_functions(const onnx::ModelProto& model, const std::string& where) {
  for (const onnx::FunctionProto& function : model.functions()) {
    const FunctionKey key = key_of(function);
    const auto [file, is_new] = function_files_.emplace(key, where);
    if (!is_new && file->second == where)
      fail("function '", function.name(), "' of domain '", function.domain(), "' is defined twice");
    if (!is_new) {
      const bool copied = &model != model_.get() && file->second == "the model" &&
                          functions_[key]->SerializeAsString() == function.SerializeAsString();
      if (copied) continue;
      fail("function '", full_name(key), "' is in ", file->second, " and in ", where, "; remove one of them");
    }
    functions_[key] = &function;
    for (const std::string& bytes : field_bytes(function, newer::kFunctionAttributes)) {
      onnx::AttributeProto attribute;
      if (!attribute.ParseFromString(bytes)) fail("function '", function.name(), "' has a damaged attribute");
      defaults_[&function].push_back(std::move(attribute));
    }
  }
}

const onnx::FunctionProto* GraphImporter::function_of(const onnx::NodeProto& proto) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(key_of(proto));
  return found == functions_.end() ? nullptr : found->second;
}

std::string GraphImporter::nearest_functions(const onnx::NodeProto& proto) const {
  std::vector<std::string> known;
  for (const auto& [key, function] : functions_) known.push_back(full_name(key));
  return nearest(full_name(key_of(proto)), known);
}

void GraphImporter::note_labels(const std::string& node, const std::map<std::string, std::string>& properties) {
  for (const auto& [key, value] : properties)
    if (key.starts_with("gart.")) node_labels_.push_back({node, key, value});
}

void GraphImporter::note_call(Scope& scope, const onnx::NodeProto& proto, const onnx::FunctionProto& function) {
  const std::string name = node_name(scope.environment, proto);
  calls_.push_back({name, name_of(function)});
  note_labels(name + "/", properties_of(function));  // labels of the calling node are added later and take precedence
  note_labels(name + "/", properties_of(proto));
  if (scope.body.outer != nullptr) return;
  for (onnx::ValueInfoProto& info : value_infos_of(function)) {
    const auto input =
        std::find(function.input().begin(), function.input().end(), info.name()) - function.input().begin();
    const ValueId* argument = input < proto.input_size() ? scope.find(proto.input(static_cast<int>(input))) : nullptr;
    if (argument != nullptr && argument->valid())
      arguments_.push_back({name, name_of(function), info.name(), scope.body.graph.value(*argument).name, info.type()});
  }
}

void GraphImporter::explain_calls(const Graph& inferred) {
  std::map<std::string, const Value*> values;
  if (!unsupported_.empty() && !arguments_.empty())
    for (int64_t i = 0; i < inferred.value_count(); ++i)
      values[inferred.value(ValueId(i)).name] = &inferred.value(ValueId(i));
  for (UnsupportedNode& row : unsupported_)
    for (const Argument& a : arguments_) {
      const Value* argument = values[a.value];
      if (!row.name.starts_with(a.call + "/") || argument == nullptr || argument->dtype == DType::undefined ||
          !differs(*argument, a.type))
        continue;
      row.why +=
          concat("; function '", a.function, "' takes '", a.input, "' as ", type_text(a.type), ", and node '", a.call,
                 "' gives it ", gcg::name_of(argument->dtype), argument->shape ? str(*argument->shape) : "");
    }
}

void GraphImporter::check_argument(const Scope& scope, const onnx::NodeProto& proto, int input, const OpDef& op) {
  const Environment& environment = scope.environment;
  if (environment.calls.empty() || proto.input(input).empty() || input >= op.min_inputs) return;
  fail("node '", environment.prefix.substr(0, environment.prefix.size() - 1), "' leaves out input '",
       proto.input(input), "' of function '", name_of(*environment.calls.back()), "', which its node '",
       node_name({}, proto), "' (", proto.op_type(), ") needs");
}

Environment GraphImporter::call_environment(Scope& scope, const onnx::NodeProto& proto,
                                            const onnx::FunctionProto& function) {
  const Environment& caller = scope.environment;
  Environment environment;
  environment.opsets = model_opsets_;  // the model's versions hold for domains that the function does not list
  for (const auto& [domain, version] :
       opset_versions(function.opset_import(), concat("function '", function.name(), "'")))
    environment.opsets[domain] = version;
  environment.prefix = node_name(caller, proto) + "/";
  for (const onnx::AttributeProto& attribute : defaults_[&function])
    environment.arguments[attribute.name()] = &attribute;
  for (const onnx::AttributeProto& written : proto.attribute()) {
    const auto& names = function.attribute();
    if (environment.arguments.count(written.name()) == 0 &&
        std::find(names.begin(), names.end(), written.name()) == names.end())
      fail("node '", node_name(caller, proto), "' has attribute '", written.name(), "', which function '",
           name_of(function), "' does not take");
    if (written.ref_attr_name().empty()) {
      environment.arguments[written.name()] = &written;
    } else if (const auto a = caller.arguments.find(written.ref_attr_name()); a != caller.arguments.end()) {
      environment.arguments[written.name()] = a->second;
    }
  }
  environment.calls = caller.calls;
  environment.calls.push_back(&function);
  for (int i = 0; i < proto.output_size() && i < function.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    const auto renamed = caller.renames.find(proto.output(i));
    environment.renames[function.output(i)] =
        renamed != caller.renames.end() ? renamed->second : caller.prefix + proto.output(i);
  }
  return environment;
}

void GraphImporter::import_call(Scope& scope, const onnx::NodeProto& proto, const onnx::FunctionProto& function) {
  const std::string name = node_name(scope.environment, proto);
  const auto& calls = scope.environment.calls;
  if (std::find(calls.begin(), calls.end(), &function) != calls.end())
    fail("function '", name_of(function), "' calls itself, at node '", name, "': ", path_of(calls, function));
  if (calls.size() >= kDeepestCalls)
    fail("node '", name, "' is nested in more than ", kDeepestCalls, " function calls");
  if (proto.input_size() > function.input_size() || proto.output_size() > function.output_size())
    fail("node '", name, "' has ", proto.input_size(), " inputs and ", proto.output_size(), " outputs, but function '",
         name_of(function), "' has ", function.input_size(), " and ", function.output_size());
  note_call(scope, proto, function);
  const Environment environment = call_environment(scope, proto, function);
  Scope inner{scope.body, environment};
  for (int i = 0; i < function.input_size(); ++i) {
    const bool is_present = i < proto.input_size() && !proto.input(i).empty();
    define(inner, function.input(i), is_present ? value_of(scope, proto.input(i), name, &proto) : ValueId());
  }
  import_nodes(inner, function.node());
  for (int i = 0; i < proto.output_size(); ++i)
    if (!proto.output(i).empty())
      define(scope, proto.output(i),
             value_of(inner, function.output(i), concat("function '", function.name(), "'"), nullptr));
}

}  // namespace gcg
