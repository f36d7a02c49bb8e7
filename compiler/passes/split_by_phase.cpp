#include "compiler/passes/split_by_phase.h"

#include <algorithm>

#include "compiler/ops/interleave.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

/// True if the operand broadcasts along all of `axes` of a tensor of this rank.
bool same_along(const Shape& operand, const std::vector<size_t>& axes, size_t rank) {
  return std::all_of(axes.begin(), axes.end(), [&](size_t axis) {
    const size_t skipped = rank - operand.size();
    return axis < skipped || operand[axis - skipped].is(1);
  });
}

/// The input that is interleaved, if the node's work can be done per sub-pixel phase; -1: none.
int interleaved_input(const Rewriter& r, const Node& n) {
  if (n.op->kind != OpKind::pointwise || n.outputs.size() != 1 || !r.has_shape(n.outputs[0])) return -1;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].valid() || r.uses(n.inputs[i]) != 1) continue;
    const Node* weave = r.producer(n.inputs[i], op_gart_Interleave);
    if (!weave || r.shape(n.inputs[i]) != r.shape(n.outputs[0])) continue;
    const std::vector<size_t> axes = interleaving_of(*weave).axes;
    for (size_t other = 0; other < n.inputs.size(); ++other)
      if (other != i && n.inputs[other].valid() &&
          (!r.has_shape(n.inputs[other]) || !same_along(r.shape(n.inputs[other]), axes, r.shape(n.outputs[0]).size())))
        return -1;
    return static_cast<int>(i);
  }
  return -1;
}

bool split(Rewriter& r, NodeId id) {
  const int input = interleaved_input(r, r.graph.node(id));
  if (input < 0) return false;
  // Copies of the node's parts, because nodes move when others are added.
  const std::string name = r.graph.node(id).name;
  const OpDef& op = *r.graph.node(id).op;
  const auto attributes = r.graph.node(id).attributes;
  std::vector<ValueId> inputs = r.graph.node(id).inputs, parts;
  ValueId& own = inputs[static_cast<size_t>(input)];
  const NodeId weave = r.value(own).producer;
  const std::string weave_name = r.graph.node(weave).name;
  const auto weave_attributes = r.graph.node(weave).attributes;
  for (ValueId part : std::vector<ValueId>(r.graph.node(weave).inputs)) {
    own = part;
    parts.push_back(r.add(op, name, inputs, attributes));
  }
  return r.replace(r.graph.node(id).outputs[0], r.add(op_gart_Interleave, weave_name, parts, weave_attributes));
}

}  // namespace

bool split_by_phase(Graph& graph) {
  return edit_all(graph, [](Rewriter& r) {
    bool changed = false;
    for (NodeId id : r.graph.order()) {
      if (r.graph.node(id).erased || !split(r, id)) continue;
      r.erase_if_dead(id);
      changed = true;
    }
    return changed;
  });
}

}  // namespace gcg
