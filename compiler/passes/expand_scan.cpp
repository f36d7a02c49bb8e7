#include "compiler/passes/expand_scan.h"

#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/scan_params.h"

namespace gcg {
namespace {

/// The rewrite of one Scan node as a Loop. The inputs of its subgraph (states, slices, captures) become iteration,
/// condition, states, captures, and the sequences that the slices come from.
class Expansion {
 public:
  Expansion(Graph& graph, NodeId id)
      : graph_(graph),
        id_(id),
        params_(graph.node(id)),
        body_(*graph.node(id).bodies[0]),
        outside_(graph, graph.node(id).name),
        inside_(body_, graph.node(id).name) {}

  void run() {
    const Node& scan = graph_.node(id_);
    const auto states = static_cast<size_t>(params_.states), sequences = static_cast<size_t>(params_.inputs);
    const std::vector<ValueId> inputs = body_.inputs;
    const auto slices = inputs.begin() + params_.states, captures = slices + params_.inputs;
    const ValueId steps = outside_.element(outside_.node("Shape", {scan.inputs[states]}), 0,
                                           axis(scan.inputs[states], params_.input_axes[0]));
    Node loop;
    loop.op = &op("Loop");
    loop.name = scan.name;
    loop.inputs = {steps, ValueId()};
    loop.inputs.insert(loop.inputs.end(), scan.inputs.begin(), scan.inputs.begin() + params_.states);
    loop.inputs.insert(loop.inputs.end(), scan.inputs.end() - scan.captures, scan.inputs.end());
    loop.captures = scan.captures;

    const ValueId iteration = body_input("iteration"), condition = body_input("condition");
    body_.inputs = {iteration, condition};
    body_.inputs.insert(body_.inputs.end(), inputs.begin(), slices);
    body_.inputs.insert(body_.inputs.end(), captures, inputs.end());
    for (size_t i = 0; i < sequences; ++i)
      take_slice(loop, slices[static_cast<std::ptrdiff_t>(i)], scan.inputs[states + i], i, iteration, steps);
    body_.outputs.insert(body_.outputs.begin(), condition);
    replace(std::move(loop));
  }

 private:
  ValueId body_input(const char* name) {
    Value v;
    v.name = body_.unique_name(name);
    return body_.add_value(std::move(v));
  }

  ValueId capture(Node& loop, ValueId outer, const char* name) {
    loop.inputs.push_back(outer);
    ++loop.captures;
    body_.inputs.push_back(body_input(name));
    return body_.inputs.back();
  }

  int64_t axis(ValueId v, int64_t axis) const {
    return axis < 0 ? axis + static_cast<int64_t>(graph_.value(v).shape->size()) : axis;
  }

  /// Replaces `slice`, an input of the subgraph, by a Gather from the whole sequence.
  void take_slice(Node& loop, ValueId slice, ValueId sequence, size_t i, ValueId iteration, ValueId steps) {
    const ValueId whole = capture(loop, sequence, "sequence");
    ValueId at = iteration;
    if (params_.input_backward[i] != 0) {
      const ValueId last = inside_.subtract(capture(loop, steps, "steps"), inside_.constant(Tensor::scalar_i64(1)));
      at = inside_.subtract(last, iteration);
    }
    body_.replace_uses(slice, inside_.node("Gather", {whole, at}, {{"axis", axis(sequence, params_.input_axes[i])}}));
  }

  void replace(Node loop) {
    const std::vector<ValueId> before = graph_.node(id_).outputs;
    loop.bodies = std::move(graph_.node(id_).bodies);
    for (ValueId old : before) {
      Value v;
      v.name = outside_.name();
      loop.outputs.push_back(old.valid() ? graph_.add_value(std::move(v)) : ValueId());
    }
    const std::vector<ValueId> after = loop.outputs;
    graph_.add_node(std::move(loop));
    for (size_t k = 0; k < before.size(); ++k) {
      if (!before[k].valid()) continue;
      const auto first = static_cast<size_t>(params_.states);
      graph_.replace_uses(before[k], k < first ? after[k] : arranged(after[k], before[k], k - first));
    }
    graph_.erase_node(id_);
  }

  /// The Loop's output, stacked along axis 0, in the order and along the axis that the Scan specifies.
  ValueId arranged(ValueId stacked, ValueId wanted, size_t k) {
    if (params_.output_backward[k] != 0) stacked = outside_.reversed(stacked, 0);
    const int64_t to = axis(wanted, params_.output_axes[k]);
    if (to == 0) return stacked;
    std::vector<int64_t> permutation;
    for (int64_t d = 1; d < static_cast<int64_t>(graph_.value(wanted).shape->size()); ++d) permutation.push_back(d);
    permutation.insert(permutation.begin() + to, 0);
    return outside_.transpose(stacked, permutation);
  }

  Graph& graph_;
  NodeId id_;
  ScanParams params_;
  Graph& body_;
  NodeBuilder outside_, inside_;
};

bool expand_all(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= expand_all(*graph.node(id).bodies[i]);
    if (graph.node(id).op != &op("Scan")) continue;
    Expansion(graph, id).run();
    changed = true;
  }
  return changed;
}

}  // namespace

bool expand_scan(Graph& graph) {
  const bool changed = expand_all(graph);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
