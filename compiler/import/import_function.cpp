// Model-local functions: every call is replaced by the function's nodes.
#include <algorithm>

#include "compiler/import/graph_importer.h"

namespace gcg {
namespace {

constexpr size_t kDeepestCalls = 128;
// Fields newer than the oldest ONNX headers we build with (1.12).
constexpr int kNodeOverload = 8, kFunctionOverload = 13, kFunctionAttributes = 11;

std::string overload_of(const google::protobuf::Message& message, int field) {
  const std::vector<std::string> found = field_bytes(message, field);
  return found.empty() ? "" : found.back();
}

}  // namespace

void GraphImporter::collect_functions() {
  for (const onnx::FunctionProto& function : model_->functions()) {
    const FunctionKey key{normal_domain(function.domain()), function.name(), overload_of(function, kFunctionOverload)};
    if (!functions_.emplace(key, &function).second)
      fail("function '", function.name(), "' of domain '", function.domain(), "' is defined twice");
    for (const std::string& bytes : field_bytes(function, kFunctionAttributes)) {
      onnx::AttributeProto attribute;
      if (!attribute.ParseFromString(bytes)) fail("function '", function.name(), "' has a damaged attribute");
      defaults_[&function].push_back(std::move(attribute));
    }
  }
}

const onnx::FunctionProto* GraphImporter::function_of(const onnx::NodeProto& proto) const {
  if (functions_.empty()) return nullptr;
  const auto found =
      functions_.find({normal_domain(proto.domain()), proto.op_type(), overload_of(proto, kNodeOverload)});
  return found == functions_.end() ? nullptr : found->second;
}

Environment GraphImporter::call_environment(Scope& scope, const onnx::NodeProto& proto,
                                            const onnx::FunctionProto& function) {
  const Environment& caller = scope.environment;
  Environment environment;
  environment.opsets = model_opsets_;  // for domains that the function does not list
  for (const auto& [domain, version] :
       opset_versions(function.opset_import(), concat("function '", function.name(), "'")))
    environment.opsets[domain] = version;
  environment.prefix = node_name(caller, proto) + "/";
  for (const onnx::AttributeProto& attribute : defaults_[&function])
    environment.arguments[attribute.name()] = &attribute;
  for (const onnx::AttributeProto& written : proto.attribute()) {
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
    fail("function '", function.name(), "' calls itself, at node '", name, "'");
  if (calls.size() >= kDeepestCalls)
    fail("node '", name, "' is nested in more than ", kDeepestCalls, " function calls");
  if (proto.input_size() > function.input_size() || proto.output_size() > function.output_size())
    fail("node '", name, "' has ", proto.input_size(), " inputs and ", proto.output_size(), " outputs, but function '",
         function.name(), "' has ", function.input_size(), " and ", function.output_size());
  const Environment environment = call_environment(scope, proto, function);
  Scope inner{scope.body, environment};
  for (int i = 0; i < function.input_size(); ++i) {
    const bool given = i < proto.input_size() && !proto.input(i).empty();
    define(inner, function.input(i), given ? value_of(scope, proto.input(i), name, &proto) : ValueId());
  }
  import_nodes(inner, function.node());
  for (int i = 0; i < proto.output_size(); ++i)
    if (!proto.output(i).empty())
      define(scope, proto.output(i),
             value_of(inner, function.output(i), concat("the end of function '", function.name(), "'"), nullptr));
}

}  // namespace gcg
