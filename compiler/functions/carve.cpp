#include "compiler/functions/carve.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "compiler/import/function_library.h"
#include "compiler/import/import.h"
#include "compiler/import/node_order.h"
#include "compiler/import/tensor_import.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

/// Reads external tensors into the nodes. A model may keep tensors in other files, but a function must hold them.
class Embedder {
 public:
  Embedder(const std::string& path)
      : external_(std::filesystem::path(path).parent_path().empty()
                      ? "."
                      : std::filesystem::path(path).parent_path().string()) {}

  void embed(onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    if (const auto why = unsupported_dtype(tensor.data_type())) fail("tensor '", tensor.name(), "': ", *why);
    const Tensor data = import_tensor(tensor, tensor.name(), nullptr, external_);
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.set_raw_data(data.data(), static_cast<size_t>(data.bytes()));
  }

  void embed(onnx::NodeProto& node) {  // the node owns these tensors, so they may be changed
    visit_tensors(node, [&](const onnx::TensorProto& tensor) { embed(const_cast<onnx::TensorProto&>(tensor)); });
  }

 private:
  ExternalData external_;
};

class Carver {
 public:
  Carver(const onnx::ModelProto& model, const std::string& path, const CarveOptions& options)
      : model_(model),
        path_(path),
        options_(options),
        embedder_(path),
        order_(topological_order(model.graph().node())) {
    const onnx::GraphProto& graph = model.graph();
    for (const auto& tensor : graph.initializer()) constants_.emplace(tensor.name(), &tensor);
    for (const auto& input : graph.input())
      if (constants_.count(input.name()) == 0) inputs_.insert(input.name());
    for (const onnx::NodeProto* node : order_)
      for (const std::string& output : node->output())
        if (!output.empty()) makers_.emplace(output, node);
  }

  onnx::FunctionProto run() {
    check_names();
    check_reached();
    collect();
    onnx::FunctionProto function;
    for (const std::string& name : options_.from) function.add_input(name);
    for (const std::string& name : options_.to) function.add_output(name);
    write_constants(function);
    for (const onnx::NodeProto* node : order_) {
      if (needed_.count(node) == 0) continue;
      *function.add_node() = *node;
      embedder_.embed(*function.mutable_node(function.node_size() - 1));
    }
    write_opsets(function);
    write_types(function);
    for (const auto& [key, value] : options_.labels) {
      onnx::StringStringEntryProto entry;
      entry.set_key(key);
      entry.set_value(value);
      add_field_bytes(function, newer::kFunctionProperties, entry.SerializeAsString());
    }
    return function;
  }

 private:
  bool is_known(const std::string& name) const {
    return makers_.count(name) != 0 || inputs_.count(name) != 0 || constants_.count(name) != 0;
  }

  void check_list(const std::vector<std::string>& names, const char* option) const {
    if (names.empty()) fail(option, " names no value");
    std::set<std::string> seen;
    for (const std::string& name : names) {
      if (!seen.insert(name).second) fail("value '", name, "' is in ", option, " twice");
      if (is_known(name)) continue;
      std::vector<std::string> known(inputs_.begin(), inputs_.end());
      for (const auto& [value, maker] : makers_) known.push_back(value);
      for (const auto& [value, tensor] : constants_) known.push_back(value);
      fail("the model has no value '", name, "', which ", option, " names", nearest(name, known));
    }
  }

  void check_names() const {
    check_list(options_.from, "--from");
    check_list(options_.to, "--to");
    for (const std::string& name : options_.to) {
      if (makers_.count(name) == 0)
        fail("value '", name, "' of --to is ", inputs_.count(name) != 0 ? "an input" : "a constant",
             " of the model, which no node computes");
      if (std::find(options_.from.begin(), options_.from.end(), name) != options_.from.end())
        fail("value '", name, "' is both in --from and in --to");
    }
  }

  /// Checks that every output depends on some input.
  void check_reached() const {
    std::set<std::string_view> reached(options_.from.begin(), options_.from.end());
    for (const onnx::NodeProto* node : order_) {
      const auto reads = reads_of(*node);
      if (std::any_of(reads.begin(), reads.end(), [&](std::string_view name) { return reached.count(name) != 0; }))
        reached.insert(node->output().begin(), node->output().end());
    }
    for (const std::string& name : options_.to)
      if (reached.count(name) == 0)
        fail("value '", name, "' of --to cannot be reached from ", listed(options_.from), " of --from");
  }

  static std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += concat(text.empty() ? "'" : ", '", name, "'");
    return text;
  }

  /// Collects the nodes that the outputs need, back to the inputs.
  void collect() {
    const std::set<std::string_view> from(options_.from.begin(), options_.from.end());
    std::set<std::string_view> seen;
    std::vector<std::string_view> open(options_.to.begin(), options_.to.end());
    std::map<std::string, const onnx::NodeProto*> missing;  // an input of the model -> one of its readers
    while (!open.empty()) {
      const std::string name(open.back());
      open.pop_back();
      const auto maker = makers_.find(name);
      if (maker == makers_.end() || !needed_.insert(maker->second).second) continue;
      for (const std::string_view read : reads_of(*maker->second)) {
        if (!seen.insert(read).second || from.count(read) != 0) continue;
        if (inputs_.count(std::string(read)) != 0) missing.emplace(read, maker->second);
        open.push_back(read);
      }
    }
    if (!missing.empty()) refuse_missing(missing);
    for (const std::string& name : options_.from)
      if (seen.count(name) == 0)
        fail("value '", name, "' of --from is not needed to compute ", listed(options_.to), " of --to");
    for (const std::string_view name : seen)
      if (from.count(name) == 0 && constants_.count(std::string(name)) != 0) constants_read_.insert(std::string(name));
  }

  [[noreturn]] void refuse_missing(const std::map<std::string, const onnx::NodeProto*>& missing) const {
    const auto& [name, reader] = *missing.begin();
    std::vector<std::string> names;
    for (const auto& [input, node] : missing) names.push_back(input);
    fail("the function needs ", listed(names), " of the model's inputs, which ", names.size() > 1 ? "are" : "is",
         " not in --from: node '", reader->name().empty() ? reader->output(0) : reader->name(), "' (",
         reader->op_type(), ") reads '", name, "'");
  }

  void write_constants(onnx::FunctionProto& function) {
    for (const auto& tensor : model_.graph().initializer()) {
      if (constants_read_.count(tensor.name()) == 0) continue;
      onnx::NodeProto& node = *function.add_node();
      node.set_op_type("Constant");
      node.set_name(tensor.name());
      node.add_output(tensor.name());
      onnx::AttributeProto& value = *node.add_attribute();
      value.set_name("value");
      value.set_type(onnx::AttributeProto::TENSOR);
      *value.mutable_t() = tensor;
      embedder_.embed(*value.mutable_t());
    }
  }

  static void add_domains(const onnx::GraphProto& graph, std::set<std::string>& domains) {
    for (const onnx::NodeProto& node : graph.node()) add_domains(node, domains);
  }
  static void add_domains(const onnx::NodeProto& node, std::set<std::string>& domains) {
    domains.insert(std::get<0>(key_of(node)));
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add_domains(attribute.g(), domains);
      for (const onnx::GraphProto& graph : attribute.graphs()) add_domains(graph, domains);
    }
  }

  void write_opsets(onnx::FunctionProto& function) const {
    std::set<std::string> domains;
    for (const onnx::NodeProto& node : function.node()) add_domains(node, domains);
    for (const auto& import : model_.opset_import())
      if (domains.erase(import.domain() == "ai.onnx" ? "" : import.domain()) != 0)
        *function.add_opset_import() = import;
    for (const std::string& domain : domains) {  // domains of functions need no version
      auto& import = *function.add_opset_import();
      import.set_domain(domain);
      import.set_version(1);
    }
  }

  /// Types that the model declares, and inferred types if the model can be imported.
  std::map<std::string, onnx::TypeProto> known_types() const {
    std::map<std::string, onnx::TypeProto> types;
    const onnx::GraphProto& graph = model_.graph();
    for (const auto* infos : {&graph.input(), &graph.output(), &graph.value_info()})
      for (const onnx::ValueInfoProto& info : *infos)
        if (info.type().has_tensor_type()) types[info.name()] = info.type();
    for (const auto& [name, tensor] : constants_) {
      auto& type = *types[name].mutable_tensor_type();
      type.set_elem_type(tensor->data_type());
      type.clear_shape();
      type.mutable_shape();
      for (const int64_t extent : tensor->dims()) type.mutable_shape()->add_dim()->set_dim_value(extent);
    }
    try {
      add_inferred(import_onnx(path_).graph, types);
    } catch (const CompileError&) {
      // Falls back to the declared types.
    }
    return types;
  }

  static void add_inferred(const Graph& graph, std::map<std::string, onnx::TypeProto>& types) {
    for (int64_t i = 0; i < graph.value_count(); ++i) {
      const Value& value = graph.value(ValueId(i));
      if (value.dtype == DType::undefined || !value.shape) continue;
      onnx::TypeProto type;
      type.mutable_tensor_type()->set_elem_type(dtype_to_onnx(value.dtype));
      type.mutable_tensor_type()->mutable_shape();
      for (const Dim& extent : *value.shape) {
        auto& dim = *type.mutable_tensor_type()->mutable_shape()->add_dim();
        if (extent.is_constant())
          dim.set_dim_value(extent.constant());
        else
          dim.set_dim_param(extent.str());
      }
      types[value.name] = std::move(type);
    }
  }

  void write_types(onnx::FunctionProto& function) const {
    const auto types = known_types();
    for (const auto* names : {&options_.from, &options_.to})
      for (const std::string& name : *names) {
        const auto type = types.find(name);
        if (type == types.end()) continue;
        onnx::ValueInfoProto info;
        info.set_name(name);
        *info.mutable_type() = type->second;
        add_field_bytes(function, newer::kFunctionValueInfos, info.SerializeAsString());
      }
  }

  const onnx::ModelProto& model_;
  const std::string& path_;
  const CarveOptions& options_;
  Embedder embedder_;
  std::vector<const onnx::NodeProto*> order_;
  std::unordered_map<std::string, const onnx::NodeProto*> makers_;
  std::map<std::string, const onnx::TensorProto*> constants_;
  std::set<std::string> inputs_;
  std::set<const onnx::NodeProto*> needed_;
  std::set<std::string> constants_read_;
};

}  // namespace

onnx::FunctionProto carve(const onnx::ModelProto& model, const std::string& path, const CarveOptions& options) {
  return Carver(model, path, options).run();
}

}  // namespace gcg
