// Infers the whole model and continues after a failure, so that all failures are reported together.
#include "compiler/import/graph_importer.h"
#include "compiler/import/tensor_import.h"
#include "compiler/ops/expansion.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

class Collector {
 public:
  Collector(Graph& outermost, const OpsetVersions& opsets, std::vector<UnsupportedNode>& rows)
      : outermost_(outermost), opsets_(opsets), rows_(rows) {}

  void run(Graph& graph) {
    for (NodeId id : graph.order())
      if (inputs_typed(graph, id)) infer(graph, id);
  }

 private:
  static bool inputs_typed(const Graph& graph, NodeId id) {
    for (ValueId input : graph.node(id).inputs)
      if (input.valid() && graph.value(input).dtype == DType::undefined) return false;
    return true;
  }

  /// The constant that a value holds, if it is one or a view of one; null for other values.
  static TensorRef constant_of(const Graph& graph, ValueId v) {
    const Value& value = graph.value(v);
    if (value.constant || !value.producer.valid() || !value.shape) return value.constant;
    const Node& n = graph.node(value.producer);
    if (n.op->kind != OpKind::view || n.inputs.empty() || !n.inputs[0].valid()) return nullptr;
    std::vector<int64_t> extents;
    for (const Dim& d : *value.shape) {
      if (!d.is_constant()) return nullptr;
      extents.push_back(d.constant());
    }
    const TensorRef source = constant_of(graph, n.inputs[0]);
    return source ? std::make_shared<const Tensor>(source->reshaped(std::move(extents))) : nullptr;
  }

  /// Replaces inputs that are views of constants by constants, because the expansion of composed operators reads the
  /// elements of some operands. Example: an embedding table that is a Reshape of the last product's packed weights.
  static void fold_views(Graph& graph, NodeId id) {
    if (expand_of(*graph.node(id).op) == nullptr) return;
    for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
      const ValueId input = graph.node(id).inputs[i];
      if (!input.valid() || graph.value(input).constant) continue;
      const TensorRef constant = constant_of(graph, input);
      if (constant) graph.node(id).inputs[i] = graph.add_constant(graph.value(input).name, *constant);
    }
  }

  void infer(Graph& graph, NodeId id) {
    try {
      fold_views(graph, id);
      infer_node(graph, id, outermost_);
      check_sizes(graph, graph.node(id));
    } catch (const InternalError&) {
      throw;
    } catch (const std::bad_variant_access&) {
      reject(graph.node(id), "one of its attributes has the wrong type");
    } catch (const NodeError& error) {
      reject_inside(graph, id, error.node().why);
    } catch (const CompileError& error) {
      reject_inside(graph, id, error.what());
    }
  }

  /// Reports a failure in a subgraph for the node inside it, together with later failures in that subgraph.
  void reject_inside(Graph& graph, NodeId id, const std::string& why) {
    const size_t before = rows_.size();
    for (const auto& body : graph.node(id).bodies) run(*body);
    if (rows_.size() == before) reject(graph.node(id), why);
  }

  static void check_sizes(const Graph& graph, const Node& node) {
    for (ValueId output : node.outputs) {
      if (!output.valid() || !graph.value(output).shape) continue;
      const Value& value = graph.value(output);
      std::vector<int64_t> extents;
      for (const Dim& dim : *value.shape) extents.push_back(dim.is_constant() ? dim.constant() : 1);
      checked_elements(extents, value.dtype, concat("its output '", value.name, "'"));
    }
  }

  void reject(const Node& node, const std::string& why) {
    const auto version = opsets_.find(node.op->domain);
    rows_.push_back({node.name, node.op->name, node.op->domain, version == opsets_.end() ? 0 : version->second, why});
  }

  Graph& outermost_;
  const OpsetVersions& opsets_;
  std::vector<UnsupportedNode>& rows_;
};

}  // namespace

void infer_imported(Graph& graph, const OpsetVersions& opsets, std::vector<UnsupportedNode>& unsupported) {
  Collector(graph, opsets, unsupported).run(graph);
}

}  // namespace gcg
