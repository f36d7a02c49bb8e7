// A graph that was recorded once, between placeholders and outputs. Recording it again makes new nodes for it.
#include <algorithm>
#include <limits>
#include <mutex>

#include "compiler/support/error.h"
#include "tools/lazy/cut.h"
#include "tools/lazy/infer_types.h"

namespace gcc_graph::lazy {

/// Values are numbered: first the inputs, then the constants, then the nodes in order.
struct Recording::Body {
  struct Step {
    const Op* op;
    const Type* type;
    const Extents* ints;
    Source source;
    std::vector<uint32_t> inputs;
    int64_t refs = 0;  // number of references from its readers and from the caller's handles
  };
  std::vector<const Type*> types;  // of the inputs
  std::vector<Array> constants;
  std::vector<Step> steps;
  std::vector<uint32_t> outputs;
  int64_t operators = 0;

  size_t first_step() const { return types.size() + constants.size(); }

  void count_references() {
    const auto add = [&](uint32_t value, int64_t references) {
      if (value >= first_step()) steps[value - first_step()].refs += references;
    };
    for (const Step& step : steps)
      for (const uint32_t k : step.inputs) add(k, 1);
    for (const uint32_t k : outputs) add(k, Node::kHandle);
  }
};

namespace {

std::vector<Node*> nodes_of(std::span<const Array> arrays) {
  std::vector<Node*> nodes;
  nodes.reserve(arrays.size());
  for (const Array& a : arrays) nodes.push_back(a.node());
  return nodes;
}

[[noreturn]] void refuse_captured(const Cut& cut, const Node* captured) {
  Source where;  // source of the node that reads `captured`
  for (const Node* node : cut.nodes)
    for (const Node* input : node->inputs())
      if (input == captured) where = node->source;
  throw Failure(
      gcg::concat(
          "an array (", text_of(*captured->type),
          ") is not an argument of the recorded function, so its value would never change: make it an argument"),
      where);
}

}  // namespace

Recording::Recording(std::span<const Array> placeholders, std::span<const Array> outputs) {
  const std::vector<Node*> ends = nodes_of(placeholders), requested = nodes_of(outputs);
  auto body = std::make_shared<Body>();
  const std::lock_guard lock(cut_mutex());
  Cut cut;
  make_cut(requested, cut, true, ends);
  std::vector<uint32_t> numbers(cut.nodes.size(), 0);
  for (const Node* end : ends) body->types.push_back(end->type);
  int64_t first_serial = ends.empty() ? 0 : ends.front()->serial;
  for (const Node* end : ends) first_serial = std::min(first_serial, end->serial);
  for (const uint32_t at : cut.evaluated) {
    Node* node = cut.nodes[at];
    if (const auto it = std::find(ends.begin(), ends.end(), node); it != ends.end()) {
      numbers[at] = static_cast<uint32_t>(it - ends.begin());
      continue;
    }
    if (node->serial < first_serial || !node->ready) refuse_captured(cut, node);
    node->serial = std::numeric_limits<int64_t>::max();  // the largest number, so that no outer recording refuses this
                                                         // value as captured
    retain(node, Node::kHandle);
    numbers[at] = static_cast<uint32_t>(ends.size() + body->constants.size());
    body->constants.emplace_back(node);
  }
  for (const uint32_t at : running_order(cut)) {
    const Node& node = *cut.nodes[at];
    Body::Step step{node.op, node.type, node.ints, node.source, {}, 0};
    for (const Node* input : node.inputs()) step.inputs.push_back(numbers[input->position]);
    numbers[at] = static_cast<uint32_t>(ends.size() + body->constants.size() + body->steps.size());
    body->steps.push_back(std::move(step));
    body->operators += node.op->def != nullptr ? 1 : 0;
  }
  for (const Node* node : requested) body->outputs.push_back(numbers[node->position]);
  body->count_references();
  body_ = std::move(body);
}

std::vector<Array> Recording::record(std::span<const Array> inputs) const {
  const Body& body = *body_;
  if (inputs.size() != body.types.size())
    throw Error(gcg::concat("a graph of ", body.types.size(), " inputs is not recorded with ", inputs.size()));
  std::vector<Node*> values(body.first_step() + body.steps.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].node()->type != body.types[i])
      throw Error(gcg::concat("input ", i, " is ", text_of(*inputs[i].node()->type),
                              ", but the graph was recorded for ", text_of(*body.types[i])));
    values[i] = inputs[i].node();
  }
  for (size_t i = 0; i < body.constants.size(); ++i) values[inputs.size() + i] = body.constants[i].node();
  const std::span<Node*> results = std::span(values).subspan(body.first_step());
  new_nodes(results);
  // No other thread knows these nodes yet, so their reference counts are set, not incremented.
  std::vector<Node*> operands;
  for (size_t i = 0; i < results.size(); ++i) {
    const Body::Step& step = body.steps[i];
    operands.clear();
    for (const uint32_t k : step.inputs) {
      operands.push_back(values[k]);
      if (k < body.first_step()) retain(values[k], 1);
    }
    results[i]->refs.store(step.refs, std::memory_order_relaxed);
    fill_node(*results[i], step.op, step.type, step.ints, operands, step.source);
  }
  counters().recorded.fetch_add(body.operators, std::memory_order_relaxed);
  std::vector<Array> outputs;
  outputs.reserve(body.outputs.size());
  for (const uint32_t k : body.outputs) {
    if (k < body.first_step()) retain(values[k], Node::kHandle);
    outputs.emplace_back(values[k]);
  }
  return outputs;
}

int64_t Recording::node_count() const { return body_->operators; }

}  // namespace gcc_graph::lazy
