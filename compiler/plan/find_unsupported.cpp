#include "compiler/plan/find_unsupported.h"

#include <optional>
#include <set>
#include <string_view>

#include "compiler/fusion/fuse.h"
#include "compiler/fusion/fusion_costs.h"
#include "compiler/ops/op_def.h"
#include "compiler/plan/extent_symbols.h"

namespace gcg {
namespace {

bool has_kernel(const Node& n) {
  const std::string_view name = n.op->name;
  if (n.op->kind == OpKind::control || n.op->kind == OpKind::opaque)
    return name == "If" || name == "Loop" ||
           ((name == "Fail" || name == "Bind" || name == "Append") && std::string_view(n.op->domain) == "gart");
  return n.op->lower != nullptr || n.op->program != nullptr || anchors_attention(n);
}

class Finder {
 public:
  explicit Finder(const Graph& graph) {
    for (ValueId in : graph.inputs)
      for (const Dim& d : *graph.value(in).shape)
        if (auto name = d.symbol_name()) symbols_.insert(*name);
    for (const std::string& name : run_bound_symbols(graph)) symbols_.insert(name);
  }

  void run(const Graph& graph) {
    const std::set<NodeId> needed = needed_nodes(graph);
    for (NodeId id : graph.order())
      if (needed.count(id)) check(graph, graph.node(id));
  }

  std::vector<UnsupportedNode> rows;

 private:
  /// The nodes that outputs need for more than the extents of their results.
  static std::set<NodeId> needed_nodes(const Graph& graph) {
    std::set<NodeId> needed;
    std::vector<ValueId> stack(graph.outputs);
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      if (!v.valid() || !graph.value(v).producer.valid()) continue;
      const NodeId id = graph.value(v).producer;
      const bool control = graph.node(id).op->kind == OpKind::control;
      if (!needed.insert(id).second || (is_symbolic_content(graph.value(v)) && !control)) continue;
      for (ValueId in : graph.node(id).inputs)
        if (in.valid() && (control || !is_symbolic_content(graph.value(in)))) stack.push_back(in);
    }
    for (NodeId id : graph.order())
      if (graph.node(id).outputs.empty()) needed.insert(id);  // gart.Fail and gart.Bind have no outputs
    return needed;
  }

  void check(const Graph& graph, const Node& n) {
    if (!has_kernel(n)) reject(n, "there is no kernel for this operator");
    for (const auto& body : n.bodies) {
      for (ValueId in : body->inputs) check_extents(n, body->value(in), "the body's input");
      run(*body);
    }
    for (ValueId out : n.outputs)
      if (out.valid()) check_extents(n, graph.value(out), "its output");
  }

  void check_extents(const Node& n, const Value& v, const char* role) {
    if (!v.shape) return reject(n, concat("the rank of ", role, " '", v.name, "' depends on data"));
    for (const Dim& d : *v.shape)
      if (auto name = new_symbol(d))
        return reject(n, concat("dimension '", *name, "' of ", role, " '", v.name,
                                "' is not an extent of an input: it depends on data"));
    if (!v.contents) return;
    for (const Dim& d : *v.contents)
      if (auto name = new_symbol(d))
        return reject(n, concat("an element of ", role, " '", v.name, "' is the extent '", *name,
                                "', which no input has: it depends on data"));
  }

  /// A symbol of `d` that is not known yet. From now on it counts as known, so that only its origin is reported.
  std::optional<std::string> new_symbol(const Dim& d) {
    std::optional<std::string> found;
    for (const std::string& name : d.symbols())
      if (symbols_.insert(name).second) found = name;
    return found;
  }

  void reject(const Node& n, std::string why) {
    if (!rows.empty() && last_ == &n) return;  // reports a node once
    last_ = &n;
    const bool named = !n.name.empty();
    rows.push_back({named ? n.name : concat("a ", n.op->name), n.op->name, n.op->domain, 0, std::move(why)});
  }

  std::set<std::string> symbols_;
  const Node* last_ = nullptr;
};

}  // namespace

std::vector<UnsupportedNode> find_unsupported(const Graph& graph) {
  Finder finder(graph);
  finder.run(graph);
  return std::move(finder.rows);
}

}  // namespace gcg
