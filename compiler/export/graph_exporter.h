// Graph -> GraphProto. Value ids become names; a subgraph's captures become the names used in the graph around it.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// The weights in the external file, in order.
struct ExternalWeights {
  std::vector<TensorRef> tensors;
  std::vector<int64_t> offsets;  // bytes; multiples of kExternalAlignment
  int64_t bytes = 0;

  /// Adds the tensor and returns its offset in the file.
  int64_t add(const TensorRef& tensor);
};
constexpr int64_t kExternalAlignment = 4096, kSmallestExternal = 1024;

class GraphExporter {
 public:
  /// `external` collects the large constants and `location` names their file. With null they stay in the model.
  GraphExporter(ExternalWeights* external, std::string location)
      : external_(external), location_(std::move(location)) {}

  /// Requires: `graph` has only standard ONNX operators (standard_onnx.h).
  onnx::GraphProto export_graph(const Graph& graph);
  /// The version of each domain except ai.onnx.
  const std::map<std::string, int64_t>& domains() const { return domains_; }

 private:
  /// One graph, with the names of its values. A subgraph's captures keep their names from the graph around it.
  struct Scope {
    const Graph& graph;
    Scope* outer;
    std::map<ValueId, std::string> names = {};
    std::set<std::string> taken = {};
    std::map<const Tensor*, std::string> constants = {};  // initializers
    std::set<std::string> node_names = {};
  };

  void export_nodes(Scope& scope, onnx::GraphProto& proto);
  void export_node(Scope& scope, const Node& node, onnx::NodeProto& proto);
  onnx::GraphProto export_body(Scope& outer, const Node& node, const Graph& body);
  void export_constants(Scope& scope, onnx::GraphProto& proto);
  void export_outputs(Scope& scope, onnx::GraphProto& proto);
  onnx::TensorProto export_initializer(const TensorRef& tensor, const std::string& name);
  static const std::string* constant_around(const Scope& scope, const Tensor* tensor);
  static std::string free_name(Scope& scope, const std::string& preferred);
  static const std::string& name_of(Scope& scope, ValueId id);

  ExternalWeights* external_;
  std::string location_;
  std::map<std::string, int64_t> domains_;
};

}  // namespace gcg
