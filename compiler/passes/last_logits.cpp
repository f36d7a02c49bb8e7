#include "compiler/passes/last_logits.h"

#include <algorithm>

#include "compiler/ops/expansion.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/expand_operators.h"
#include "compiler/passes/node_copy.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

/// A node that computes each row of its result from the same row of one input.
struct RowStep {
  NodeId node;
  size_t input;
};

bool is_one_row(const Rewriter& r, ValueId v) {
  if (!r.has_shape(v)) return false;
  const Shape& shape = r.shape(v);
  return shape.size() < 2 || shape[shape.size() - 2] == Dim(1);
}

/// The input whose rows are those of the node's only result; nullopt if there is none, or more than one.
std::optional<size_t> row_input(const Rewriter& r, const Node& n) {
  const size_t rank = r.shape(n.outputs[0]).size();
  const auto has_rank = [&](ValueId v) { return r.has_shape(v) && r.shape(v).size() == rank; };
  if (n.op == &op_MatMul) {  // all rows are multiplied by the same matrix
    const bool fits = has_rank(n.inputs[0]) && r.has_shape(n.inputs[1]) && r.shape(n.inputs[1]).size() == 2;
    return fits ? std::optional<size_t>(0) : std::nullopt;
  }
  if (n.op->kind != OpKind::pointwise && n.op != &op_Identity) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].valid() || is_one_row(r, n.inputs[i])) continue;
    if (found || !has_rank(n.inputs[i])) return std::nullopt;
    found = i;
  }
  return found;
}

/// The nodes that compute the rows of `logits` one by one, last to first, up to the first product. `end` receives the
/// node that ends the search because it computes rows in another way; otherwise an invalid id.
std::vector<RowStep> row_steps(const Rewriter& r, ValueId logits, NodeId& end) {
  std::vector<RowStep> steps;
  size_t products = 0;  // the steps up to the first product
  end = NodeId();
  for (ValueId v = logits; r.value(v).producer.valid() && r.uses(v) == 1;) {
    const Node& n = r.graph.node(r.value(v).producer);
    end = r.value(v).producer;
    const std::optional<size_t> input = n.outputs.size() == 1 ? row_input(r, n) : std::nullopt;
    if (!input) break;
    end = NodeId();
    steps.push_back({r.value(v).producer, *input});
    if (n.op->kind == OpKind::contraction) products = steps.size();
    v = n.inputs[*input];
  }
  steps.resize(products);
  return steps;
}

/// The same, but expands composed operators before the product first. `logits`: an element of graph.outputs, which an
/// expansion may replace.
std::vector<RowStep> expanded_row_steps(Graph& graph, const ValueId& logits) {
  while (true) {
    NodeId end;
    std::vector<RowStep> steps = row_steps(Rewriter(graph, graph), logits, end);
    if (!steps.empty() || !end.valid() || expand_of(*graph.node(end).op) == nullptr) return steps;
    expand_operator(graph, end);
    infer_graph(graph);
  }
}

}  // namespace

bool keep_last_logits(Graph& graph) {
  const auto output = std::find_if(graph.outputs.begin(), graph.outputs.end(),
                                   [&](ValueId v) { return graph.value(v).name == "logits"; });
  if (output == graph.outputs.end()) return false;
  const Value& logits = graph.value(*output);
  if (!logits.shape || is_one_row(Rewriter(graph, graph), *output)) return false;
  const std::vector<RowStep> steps = expanded_row_steps(graph, *output);
  if (steps.empty()) return false;
  Rewriter r(graph, graph);
  const RowStep first = steps.back();
  const Node producer = copy_of(graph.node(first.node));
  const ValueId all = producer.inputs[first.input];
  ValueId row = r.add(op_Gather, producer.name, {all, r.add_constant("last_row", Tensor::vector_i64({-1}))},
                      {{"axis", static_cast<int64_t>(r.shape(all).size()) - 2}});
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    Node n = copy_of(graph.node(step->node));
    n.inputs[step->input] = row;
    row = r.add(*n.op, n.name, n.inputs, n.attributes);
  }
  graph.value(*output).name = graph.unique_name("all_logits");
  graph.value(row).name = "logits";
  *output = row;
  r.forget_readers();
  for (const RowStep& step : steps) r.erase_if_dead(step.node);
  return true;
}

}  // namespace gcg
