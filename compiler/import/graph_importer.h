// GraphProto -> Graph: names become value ids, model-local functions are inlined, captures of subgraphs become inputs.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/import/external_data.h"
#include "compiler/import/function_library.h"
#include "compiler/import/import.h"
#include "compiler/import/labels.h"
#include "compiler/import/opsets.h"
#include "compiler/ir/graph.h"
#include "compiler/ops/custom_op.h"

namespace gcg {

using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// The imported form of an ONNX attribute, or the reason why it has none.
struct ImportedAttribute {
  std::optional<Attribute> value;
  const onnx::GraphProto* graph = nullptr;  // the value of a graph attribute
  std::string why;                          // "attribute 'x' is a sparse tensor"
};

/// The naming context of a list of nodes: the model's graph, or one call of a function.
struct Environment {
  OpsetVersions opsets;
  std::string prefix;                                            // prefix of node and value names: "call/"
  std::map<std::string, const onnx::AttributeProto*> arguments;  // attributes of the function call, by name
  std::map<std::string, std::string> renames;                    // a function's output -> the caller's name for it
  std::vector<const onnx::FunctionProto*> calls;                 // the functions being inlined, outermost first
};

/// A graph under construction. Values of the graph around it enter as captures; its constants are copied.
struct Body {
  Graph& graph;
  Body* outer = nullptr;
  std::vector<ValueId>* captures = nullptr;  // values of `outer`, shared by all subgraphs of one node
  Labels* labels = nullptr;                  // of all graphs
  std::map<ValueId, ValueId> from_outer = {};
  std::set<std::string> reserved = {};  // names that inlined functions must not use

  ValueId enter(ValueId outer_value);
};

/// A namespace. A subgraph's scope also searches the scope around it; a function's does not.
struct Scope {
  Body& body;
  const Environment& environment;
  Scope* outer = nullptr;
  const NodeProtos* nodes = nullptr;           // the nodes being imported, for messages
  std::map<std::string, ValueId> values = {};  // an invalid id: an optional input that the caller omitted

  /// Null if no visible scope has the name.
  const ValueId* find(const std::string& name);
};

class GraphImporter {
 public:
  GraphImporter(std::shared_ptr<const onnx::ModelProto> model, std::vector<FunctionLibrary> libraries,
                ExternalData external, const std::vector<CustomOp>& custom_ops);

  /// The model's graph, not yet inferred. Unsupported nodes are left out, and their outputs stay untyped.
  Graph import_graph();
  /// One row for each node that was left out.
  std::vector<UnsupportedNode>& unsupported() { return unsupported_; }
  /// Names of the numbers or columns of outputs, where they are known, and the strings that inputs distinguish.
  const std::map<std::string, std::vector<std::string>>& text_labels() const { return text_labels_; }
  const std::vector<FunctionCall>& calls() const { return calls_; }
  const std::vector<NodeLabel>& node_labels() const { return node_labels_; }
  /// Extends the rows for nodes within functions if the call's types differ from those that the function declares.
  void explain_calls(const Graph& inferred);

 private:
  // graph_importer.cpp
  void import_inputs(Scope& scope, const onnx::GraphProto& graph);
  void import_outputs(Scope& scope, const onnx::GraphProto& graph);
  void import_initializers(Scope& scope, const onnx::GraphProto& graph);
  void import_nodes(Scope& scope, const NodeProtos& nodes);
  void define(Scope& scope, const std::string& name, ValueId value);
  ValueId add_value(Scope& scope, const std::string& name, TensorRef constant = nullptr);
  ValueId value_of(Scope& scope, const std::string& name, const std::string& reader, const onnx::NodeProto* node);

  // import_node.cpp
  void import_node(Scope& scope, const onnx::NodeProto& proto);
  void import_constant(Scope& scope, const onnx::NodeProto& proto);
  bool import_constant_strings(Scope& scope, const onnx::NodeProto& proto);
  void add_strings(Scope& scope, const std::string& name, const onnx::TensorProto& tensor);
  bool import_attributes(Scope& scope, const onnx::NodeProto& proto, Node& node);
  void import_bodies(Scope& scope, const std::vector<const onnx::GraphProto*>& graphs, Node& node);
  std::string why_not(Scope& scope, const onnx::NodeProto& proto) const;
  const CustomOp* custom_op_of(const onnx::NodeProto& proto) const;
  void reject(Scope& scope, const onnx::NodeProto& proto, const std::string& why);
  void reject_without_outputs(Scope& scope, const onnx::NodeProto& proto, const std::string& why);

  // import_function.cpp
  void collect_functions();
  void collect_functions(const onnx::ModelProto& model, const std::string& where);
  std::string nearest_functions(const onnx::NodeProto& proto) const;
  void note_call(Scope& scope, const onnx::NodeProto& proto, const onnx::FunctionProto& function);
  void note_labels(const std::string& node, const std::map<std::string, std::string>& properties);
  static void check_argument(const Scope& scope, const onnx::NodeProto& proto, int input, const OpDef& op);
  const onnx::FunctionProto* function_of(const onnx::NodeProto& proto) const;
  void import_call(Scope& scope, const onnx::NodeProto& proto, const onnx::FunctionProto& function);
  Environment call_environment(Scope& scope, const onnx::NodeProto& proto, const onnx::FunctionProto& function);

  // import_attribute.cpp
  ImportedAttribute import_attribute(const onnx::AttributeProto& proto, const std::string& node);

  std::shared_ptr<const onnx::ModelProto> model_;
  std::vector<FunctionLibrary> libraries_;
  std::shared_ptr<const void> owner_;  // keeps all protos alive: tensors are used in place
  ExternalData external_;
  const std::vector<CustomOp>& custom_ops_;
  OpsetVersions model_opsets_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::map<FunctionKey, std::string> function_files_;                                 // "the model" or a library's path
  std::map<const onnx::FunctionProto*, std::vector<onnx::AttributeProto>> defaults_;  // of functions' attributes
  Labels labels_;
  std::map<std::string, std::vector<std::string>> text_labels_;
  std::vector<UnsupportedNode> unsupported_;
  std::vector<FunctionCall> calls_;
  std::vector<NodeLabel> node_labels_;
  struct Argument {
    // Names of the call, the function and the input; `value` is the name in the model's graph.
    std::string call, function, input, value;
    onnx::TypeProto type;  // the type that the function declares
  };
  std::vector<Argument> arguments_;
  int64_t node_count_ = 0;
};

/// The ONNX name of a node, or its first output's name if it has none, after the environment's prefix.
std::string node_name(const Environment& environment, const onnx::NodeProto& proto);

/// Explains why `name`, read by the node at `reader` in `nodes`, is undefined: a cycle, or nothing makes it.
std::string missing_value(const Scope& scope, const std::string& name, const onnx::NodeProto* reader);

/// Infers the whole graph and adds one row for each node whose inference fails. Skips nodes that read untyped values.
void infer_imported(Graph& graph, const OpsetVersions& opsets, std::vector<UnsupportedNode>& unsupported);

}  // namespace gcg
