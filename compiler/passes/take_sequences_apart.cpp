#include "compiler/passes/take_sequences_apart.h"

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/eliminate_dead_code.h"
#include "compiler/passes/packed_sequence.h"
#include "compiler/passes/sequences.h"

namespace gcg {
namespace {

bool has_sequences(const Graph& graph) {
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    if (makes_sequence(n.op) || reads_sequence(n.op)) return true;
    for (const auto& body : n.bodies)
      if (has_sequences(*body)) return true;
  }
  return false;
}

/// Replaces each model output that is a sequence by one output per element. If only a run knows the number of elements,
/// replaces it by two outputs: all numbers, one element after the other, and the shapes.
void spread_outputs(Graph& graph, const Sequences& sequences, std::vector<UnsupportedNode>& rows) {
  std::vector<ValueId> outputs;
  for (ValueId v : graph.outputs) {
    const SequenceParts* parts = sequences.parts(v);
    while (parts != nullptr && parts->is_optional && parts->parts.size() == 1 &&
           sequences.parts(parts->parts[0].value) != nullptr)
      parts = sequences.parts(parts->parts[0].value);
    if (parts == nullptr) {
      outputs.push_back(v);
      continue;
    }
    const std::string name = graph.value(v).name;
    const auto leaves = [&](ValueId part, const std::string& as) {
      outputs.push_back(NodeBuilder(graph, as).node("Identity", {part}));
    };
    if (parts->length()) {
      for (size_t i = 0; i < parts->parts.size(); ++i)
        leaves(parts->parts[i].value, parts->is_optional ? name + ".element" : concat(name, ".", i));
      continue;
    }
    NodeBuilder b(graph, name);
    const auto type = element_type(graph, *parts);
    const auto all = type ? packed(b, *parts, *type) : std::nullopt;
    if (!all) {
      rows.push_back({name, "graph output", "", 0, "the ranks of the sequence's elements are not known, or differ"});
      continue;
    }
    leaves(all->value, name + ".numbers");
    leaves(all->table, name + ".shapes");
  }
  if (outputs.empty()) rows.push_back({graph.name, "graph", "", 0, "its outputs are empty sequences"});
  graph.outputs = outputs;
}

}  // namespace

void Sequences::visit(NodeId id) {
  const Node& n = graph_.node(id);
  if (makes_sequence(n.op)) return n.op == &op_SequenceMap ? map(id) : make(id);
  if (reads_sequence(n.op)) return read(id);
  if (n.op == &op_Identity) {
    if (const SequenceParts* from = parts(n.inputs[0])) known_[n.outputs[0]] = *from;
    return;
  }
  if (n.bodies.empty()) return;
  if (n.op == &op_If && pick_branch(id)) return;
  if (n.op == &op_Loop && sequence_state(n)) {
    if (unroll(id)) return;
    carry(id);
  }
  enter_bodies(id);
}

bool take_sequences_apart(Graph& graph) {
  using Loops = Sequences::Loops;
  if (!has_sequences(graph)) return false;
  try {
    // A round may find the trip count of a loop. Then unrolling the loop is preferred to appending, so the rounds start
    // again.
    for (Loops loops = Loops::unroll;;) {
      Sequences sequences(graph, loops);
      sequences.run();
      const bool is_last = !sequences.changed && loops == Loops::append_anyhow;
      if (is_last && sequences.rows.empty()) spread_outputs(graph, sequences, sequences.rows);
      if (is_last && !sequences.rows.empty()) throw UnsupportedModel(std::move(sequences.rows));
      loops = sequences.changed ? Loops::unroll : loops == Loops::unroll ? Loops::as_typed : Loops::append_anyhow;
      if (!sequences.changed && !is_last) continue;
      eliminate_dead_code(graph);  // removes sequences that nobody reads any more
      infer_graph(graph);
      if (is_last) return true;
    }
  } catch (const NodeError& error) {
    throw UnsupportedModel({error.node()});
  }
}

}  // namespace gcg
