#include "compiler/functions/function_library_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <unordered_map>

#include "compiler/functions/carve.h"
#include "compiler/import/function_library.h"
#include "compiler/import/mapped_file.h"
#include "compiler/import/parse_model.h"
#include "compiler/ir/dtype.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

using Functions = std::map<FunctionKey, const onnx::FunctionProto*>;

Functions functions_of(const onnx::ModelProto& model) {
  Functions functions;
  for (const auto& function : model.functions()) functions.emplace(key_of(function), &function);
  return functions;
}

/// Splits "acme::Block" into its parts.
FunctionKey parse_name(const std::string& name) {
  const size_t colons = name.rfind("::");
  if (colons == std::string::npos) return {kFunctionDomain, name, ""};
  return {name.substr(0, colons), name.substr(colons + 2), ""};
}

void check_name(const std::string& name) {
  const auto& [domain, own, overload] = parse_name(name);
  const auto is_word = [](const std::string& text) {
    return !text.empty() && text.find_first_of(" \t\n:,/") == std::string::npos;
  };
  if (!is_word(own) || !is_word(domain))
    fail("'", name,
         "' is not a function name; expected NAME or DOMAIN::NAME without blanks, commas, colons and slashes");
  if (domain == "ai.onnx" || domain == "gart" || domain == "com.microsoft" || domain.starts_with("ai.onnx."))
    fail("functions cannot be in the domain '", domain, "', which is reserved for operators; choose another one");
}

/// A canonical form, independent of the names of values and nodes. Values are numbered in order of appearance.
std::string canonical(onnx::FunctionProto function) {
  std::unordered_map<std::string, std::string> numbers;
  const auto rename = [&](std::string& name) {
    if (!name.empty()) name = numbers.emplace(name, std::to_string(numbers.size())).first->second;
  };
  for (std::string& name : *function.mutable_input()) rename(name);
  onnx::FunctionProto bare;
  for (onnx::NodeProto& node : *function.mutable_node()) {
    for (std::string& name : *node.mutable_input()) rename(name);
    for (std::string& name : *node.mutable_output()) rename(name);
    onnx::NodeProto& copy = *bare.add_node();
    copy.set_op_type(node.op_type());
    copy.set_domain(node.domain());
    *copy.mutable_input() = node.input();
    *copy.mutable_output() = node.output();
    *copy.mutable_attribute() = node.attribute();
    for (onnx::AttributeProto& attribute : *copy.mutable_attribute())
      if (attribute.has_t()) attribute.mutable_t()->clear_name();
  }
  for (std::string& name : *function.mutable_output()) rename(name);
  *bare.mutable_input() = function.input();
  *bare.mutable_output() = function.output();
  *bare.mutable_opset_import() = function.opset_import();
  return bare.SerializeAsString();
}

std::string made_name(const onnx::FunctionProto& function) {
  const std::string text = canonical(function);
  char name[32];
  std::snprintf(name, sizeof name, "f_%016llx", static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return name;
}

/// Adds the functions that the node and its subgraphs call.
void add_calls(const onnx::NodeProto& node, std::set<FunctionKey>& calls) {
  calls.insert(key_of(node));
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g())
      for (const onnx::NodeProto& inner : attribute.g().node()) add_calls(inner, calls);
    for (const onnx::GraphProto& graph : attribute.graphs())
      for (const onnx::NodeProto& inner : graph.node()) add_calls(inner, calls);
  }
}

/// The functions among `functions` that `function` calls.
std::vector<const onnx::FunctionProto*> calls_of(const onnx::FunctionProto& function, const Functions& functions) {
  std::set<FunctionKey> keys;
  for (const onnx::NodeProto& node : function.node()) add_calls(node, keys);
  std::vector<const onnx::FunctionProto*> called;
  for (const FunctionKey& key : keys)
    if (const auto known = functions.find(key); known != functions.end()) called.push_back(known->second);
  return called;
}

std::string name_of(const onnx::FunctionProto& function) { return full_name(key_of(function)); }

/// Visits the functions and, recursively, the functions that they call. Fails if one calls itself.
void check_recursion(const onnx::FunctionProto& function, const Functions& functions,
                     std::vector<const onnx::FunctionProto*>& path) {
  if (const auto again = std::find(path.begin(), path.end(), &function); again != path.end()) {
    std::string text;
    for (auto f = again; f != path.end(); ++f) text += name_of(**f) + " -> ";
    fail("function '", name_of(function), "' would call itself: ", text, name_of(function));
  }
  path.push_back(&function);
  for (const onnx::FunctionProto* called : calls_of(function, functions)) check_recursion(*called, functions, path);
  path.pop_back();
}

onnx::ModelProto open_library(const std::string& path) {
  if (std::filesystem::exists(path)) return onnx::ModelProto(*read_library(path).model);
  onnx::ModelProto library;
  library.set_producer_name("gcc-graph");
  library.mutable_graph()->set_name("functions");
  return library;
}

/// Imports into the library the opsets that its functions import.
void write_imports(onnx::ModelProto& library) {
  std::map<std::string, int64_t> versions = {{"", 1}};
  for (const onnx::FunctionProto& function : library.functions()) {
    versions.emplace(function.domain(), 1);
    for (const auto& import : function.opset_import())
      versions[import.domain()] = std::max<int64_t>(versions[import.domain()], import.version());
  }
  library.clear_opset_import();
  for (const auto& [domain, version] : versions) {
    auto& import = *library.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
}

std::vector<uint8_t> bytes_of(onnx::ModelProto& library, const std::string& path) {
  constexpr int64_t kOldestIrVersion = 10;  // the first version in which a function's values have types
  library.set_ir_version(std::max<int64_t>(library.ir_version(), kOldestIrVersion));
  write_imports(library);
  const size_t size = library.ByteSizeLong();
  if (size > static_cast<size_t>(std::numeric_limits<int>::max()))
    fail(path, " would have ", size, " bytes; a library has 2 GiB at most: list large weights in --from");
  std::vector<uint8_t> bytes(size);
  GCG_CHECK(library.SerializeToArray(bytes.data(), static_cast<int>(size)), "a library of ", size, " bytes");
  return bytes;
}

std::string type_text(const onnx::TypeProto& type) {
  const auto dtype = dtype_from_onnx(type.tensor_type().elem_type());
  if (!dtype) return {};
  std::string text(gcg::name_of(*dtype));
  if (!type.tensor_type().has_shape()) return text;
  text += "[";
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (text.back() != '[') text += ",";
    text += dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param().empty() ? "?" : dim.dim_param();
  }
  return text + "]";
}

FunctionSummary summarise(const onnx::FunctionProto& function, const Functions& functions) {
  FunctionSummary out;
  out.name = name_of(function);
  std::map<std::string, std::string> types;
  for (const onnx::ValueInfoProto& info : value_infos_of(function)) types[info.name()] = type_text(info.type());
  for (const std::string& name : function.input()) out.inputs.push_back({name, types[name]});
  for (const std::string& name : function.output()) out.outputs.push_back({name, types[name]});
  for (const onnx::NodeProto& node : function.node()) {
    out.nodes += node.op_type() != "Constant";
    visit_tensors(node, [&](const onnx::TensorProto& tensor) {
      out.constant_bytes += static_cast<int64_t>(tensor.ByteSizeLong());
    });
  }
  for (const onnx::FunctionProto* called : calls_of(function, functions)) out.calls.push_back(name_of(*called));
  out.labels = properties_of(function);
  return out;
}

/// Adds to the library the functions of the model that it calls, directly or indirectly.
void add_called(const onnx::FunctionProto& function, const Functions& of_model, const std::string& path,
                onnx::ModelProto& library) {
  for (const onnx::FunctionProto* called : calls_of(function, of_model)) {
    const Functions known = functions_of(library);
    const auto there = known.find(key_of(*called));
    if (there != known.end() && there->second->SerializeAsString() != called->SerializeAsString())
      fail("function '", name_of(*called), "', which is needed, differs from the function of the same name in ", path);
    if (there != known.end()) continue;
    *library.add_functions() = *called;
    add_called(*called, of_model, path, library);
  }
}

}  // namespace

ChangedLibrary add_function(const std::string& library_path, const std::string& model_path,
                            const CarveOptions& options) {
  if (!options.name.empty()) check_name(options.name);
  onnx::ModelProto library = open_library(library_path);
  const auto file = MappedFile::open(model_path);
  const auto model = parse_model(file->bytes(), model_path);
  onnx::FunctionProto function = carve(*model, model_path, options);
  const auto [domain, name, overload] = parse_name(options.name.empty() ? made_name(function) : options.name);
  function.set_domain(domain);
  function.set_name(name);
  const Functions known = functions_of(library);
  if (const auto taken = known.find(key_of(function)); taken != known.end()) {
    if (!options.name.empty() || canonical(*taken->second) != canonical(function))
      fail("function '", name_of(function), "' is in ", library_path,
           " already; choose another name, or remove that one first");
    // The library already holds the same function.
    return {bytes_of(library, library_path), summarise(*taken->second, known)};
  }
  *library.add_functions() = std::move(function);
  const onnx::FunctionProto added = library.functions(library.functions_size() - 1);
  add_called(added, functions_of(*model), library_path, library);
  const Functions all = functions_of(library);
  for (const auto& [key, each] : all) {
    std::vector<const onnx::FunctionProto*> path;
    check_recursion(*each, all, path);
  }
  return {bytes_of(library, library_path), summarise(added, all)};
}

ChangedLibrary remove_function(const std::string& library_path, const std::string& name) {
  onnx::ModelProto library(*read_library(library_path).model);
  const Functions known = functions_of(library);
  const auto found = known.find(parse_name(name));
  std::vector<std::string> names;
  for (const auto& [key, function] : known) names.push_back(full_name(key));
  if (found == known.end())
    fail("there is no function '", full_name(parse_name(name)), "' in ", library_path,
         nearest(full_name(parse_name(name)), names));
  for (const auto& [key, function] : known) {
    const auto called = calls_of(*function, known);
    if (function != found->second && std::find(called.begin(), called.end(), found->second) != called.end())
      fail("function '", name_of(*found->second), "' is called by '", full_name(key), "'; remove that one first");
  }
  FunctionSummary summary = summarise(*found->second, known);
  auto& functions = *library.mutable_functions();
  for (int i = 0; i < functions.size(); ++i)
    if (key_of(functions[i]) == found->first) {
      functions.DeleteSubrange(i, 1);
      break;
    }
  const bool is_empty = functions.empty();
  return {bytes_of(library, library_path), std::move(summary), is_empty};
}

std::vector<FunctionSummary> list_functions(const std::string& library_path) {
  const FunctionLibrary library = read_library(library_path);
  const Functions known = functions_of(*library.model);
  std::vector<FunctionSummary> out;
  for (const auto& [key, function] : known) out.push_back(summarise(*function, known));
  return out;
}

}  // namespace gcg
