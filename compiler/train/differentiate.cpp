#include "compiler/train/differentiate.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ops/infer.h"
#include "compiler/passes/expand_attention.h"
#include "compiler/passes/expand_flex_attention.h"
#include "compiler/passes/expand_linear_attention.h"
#include "compiler/passes/expand_max_unpool.h"
#include "compiler/passes/expand_operators.h"
#include "compiler/passes/expand_recurrent.h"
#include "compiler/passes/expand_scan.h"
#include "compiler/passes/pass.h"
#include "compiler/support/error.h"
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

class Differentiation {
 public:
  Differentiation(Graph& graph, Graph& outermost, const std::vector<ValueId>& wrt)
      : graph_(graph), outermost_(outermost), order_(graph.order()) {
    for (ValueId w : wrt) needed_.insert(w);
    for (NodeId id : order_) mark(id);
  }

  /// Adds a gradient with respect to the value, if it is needed.
  void add(ValueId value, ValueId gradient) {
    if (needed_.count(value) == 0) return;
    const auto [it, fresh] = gradients_.try_emplace(value, gradient);
    if (fresh) return;
    FormulaWriter w(graph_, outermost_, graph_.value(value).name + ".gradient");
    it->second = (w.of(it->second) + w.of(gradient)).id;
  }

  void run() {
    for (size_t i = order_.size(); i-- > 0;) visit(order_[i]);
  }

  ValueId gradient(ValueId value) const {
    const auto it = gradients_.find(value);
    return it == gradients_.end() ? ValueId() : it->second;
  }

 private:
  bool is_needed(ValueId v) const { return v.valid() && needed_.count(v) != 0; }

  /// Marks a node's results as needed if they depend on a needed value, unless they are constant almost everywhere.
  void mark(NodeId id) {
    const Node& node = graph_.node(id);
    const bool depends = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId v) { return is_needed(v) && is_float(graph_.value(v).dtype); });
    if (!depends || gradient_kind(*node.op) == GradientKind::zero) return;
    for (ValueId out : node.outputs)
      if (out.valid() && is_float(graph_.value(out).dtype)) needed_.insert(out);
  }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<ValueId> results;
    for (ValueId out : node.outputs) results.push_back(out.valid() ? gradient(out) : ValueId());
    if (std::none_of(results.begin(), results.end(), [](ValueId v) { return v.valid(); })) return;
    std::vector<bool> required;
    for (ValueId in : node.inputs) required.push_back(is_needed(in) && is_float(graph_.value(in).dtype));
    if (std::none_of(required.begin(), required.end(), [](bool w) { return w; })) return;
    const GradientRule rule = gradient_rule_of(*node.op);
    if (rule == nullptr) refuse(id);
    GradientContext context(graph_, outermost_, id, std::move(results), std::move(required));
    rule(context);
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (context.found()[i].valid()) add(inputs[i], context.found()[i]);
  }

  std::string name_of_node(NodeId id) const {
    return concat(graph_.node(id).op->name, " '", graph_.node(id).name, "'");
  }

  /// Throws an error that names the nodes from a value of `wrt` to this node, and from there to the loss.
  [[noreturn]] void refuse(NodeId id) const {
    std::vector<std::string> before, after;
    ValueId source;
    for (NodeId at = id;;) {  // goes back along needed operands
      const Node& node = graph_.node(at);
      source = *std::find_if(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return is_needed(v); });
      at = graph_.value(source).producer;
      if (!at.valid() || gradient_kind(*graph_.node(at).op) == GradientKind::zero) break;
      const Node& producer = graph_.node(at);
      if (std::none_of(producer.inputs.begin(), producer.inputs.end(), [&](ValueId v) { return is_needed(v); })) break;
      before.insert(before.begin(), name_of_node(at));
    }
    const std::vector<std::vector<NodeId>> users = graph_.users();
    for (NodeId at = id; at.valid();) {  // follows values that have a gradient, towards the loss
      NodeId next;
      for (ValueId out : graph_.node(at).outputs)
        if (out.valid() && gradient(out).valid())
          for (NodeId user : users[static_cast<size_t>(out.index)])
            if (is_forward(user)) next = user;
      if (next.valid()) after.push_back(name_of_node(next));
      at = next;
    }
    std::string path = concat("'", graph_.value(source).name, "'");
    for (const std::string& name : shortened(before)) path += concat(" -> ", name);
    path += concat(" -> ", name_of_node(id));
    for (const std::string& name : shortened(after)) path += concat(" -> ", name);
    fail(graph_.node(id).op->name, " '", graph_.node(id).name, "' has no gradient, and the loss depends on '",
         graph_.value(source).name, "' through it: ", path, " -> loss");
  }

  /// True for a node of the given graph whose result has a gradient, as opposed to a node that computes gradients.
  bool is_forward(NodeId id) const {
    if (std::find(order_.begin(), order_.end(), id) == order_.end()) return false;
    const Node& node = graph_.node(id);
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId v) { return v.valid() && gradient(v).valid(); });
  }

  static std::vector<std::string> shortened(std::vector<std::string> names) {
    constexpr size_t kMost = 6;
    if (names.size() > kMost) {
      names.erase(names.begin() + kMost / 2, names.end() - kMost / 2);
      names.insert(names.begin() + kMost / 2, "...");
    }
    return names;
  }

  Graph& graph_;
  Graph& outermost_;
  const std::vector<NodeId> order_;
  std::set<ValueId> needed_;
  std::map<ValueId, ValueId> gradients_;
};

}  // namespace

void expand_for_gradients(Graph& graph) {
  run_passes(graph, {model_passes().front()}, nullptr, {});
  expand_operators(graph);
  expand_attention(graph);
  expand_flex_attention(graph);
  expand_linear_attention(graph);
  expand_max_unpool(graph);
  expand_recurrent(graph);
  expand_scan(graph);
}

std::vector<ValueId> differentiate(Graph& graph, Graph& outermost, const std::vector<ValueId>& outputs,
                                   const std::vector<ValueId>& by_output, const std::vector<ValueId>& wrt) {
  Differentiation d(graph, outermost, wrt);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (by_output[i].valid()) d.add(outputs[i], by_output[i]);
  d.run();
  std::vector<ValueId> gradients;
  for (ValueId w : wrt) gradients.push_back(d.gradient(w));
  return gradients;
}

std::vector<ValueId> differentiate(Graph& graph, ValueId loss, const std::vector<ValueId>& wrt) {
  const Value& value = graph.value(loss);
  if (!is_float(value.dtype) || !value.shape || !product(*value.shape).is(1))
    fail("the loss '", value.name, "' is ", name_of(value.dtype), value.shape ? str(*value.shape) : "[?]",
         ", it must be a float of one element");
  FormulaWriter w(graph, graph, value.name + ".gradient");
  const Formula one = expand_like(w.scalar(value.dtype, 1), w.of(loss));
  return differentiate(graph, graph, {loss}, {one.id}, wrt);
}

}  // namespace gcg
