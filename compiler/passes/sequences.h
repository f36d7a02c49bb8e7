// The implementation of take_sequences_apart for one graph: the model's graph, or a subgraph.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/sequence_parts.h"
#include "compiler/support/unsupported.h"

namespace gcg {

/// Gives the value and the table of one packed part with all elements of a sequence. It is a placeholder until the
/// sequence is known. Only this pass uses it, so no list of operators has it.
extern const OpDef kPackSequence;

/// True if the operator makes or reads a sequence or an optional.
bool makes_sequence(const OpDef* op);
bool reads_sequence(const OpDef* op);

/// Must be called after outputs of the node have been added, removed or moved.
void number_outputs(Graph& graph, NodeId id);

class Sequences {
 public:
  /// The ways to rewrite a loop that changes a sequence, in the order in which they are tried.
  enum class Loops : uint8_t {
    unroll,         // for a small, known number of iterations
    as_typed,       // appended elements of one shape become rows; otherwise iterations pass packed parts on
    append_anyhow,  // appended elements become rows even if their types are still unknown
  };

  Sequences(Graph& graph, Loops loops) : graph_(graph), loops_(loops) {}

  /// Takes all nodes apart that are ready.
  void run() {
    for (NodeId id : graph_.order())
      if (!graph_.node(id).erased) visit(id);
  }

  const SequenceParts* parts(ValueId v) const {
    const auto it = known_.find(v);
    return it == known_.end() ? nullptr : &it->second;
  }

  bool changed = false;
  std::vector<UnsupportedNode> rows;

 private:
  void visit(NodeId id);
  void reject(const Node& n, std::string why) { rows.push_back({n.name, n.op->name, n.op->domain, 0, std::move(why)}); }

  // ---- operators (sequence_operators.cpp)
  void make(NodeId id);
  void read(NodeId id);
  std::optional<ValueId> element_of_optional(const Node& n, const SequenceParts* from);
  /// Graph outputs keep their value: if `to` is an output or not the result of a node, they get a copy of it.
  void replace(ValueId from, ValueId to);
  /// Adds a value for an additional output of a node.
  ValueId add_output(const std::string& hint);
  /// Gives `sequence`, which has lost its producer, a new producer that lists the parts.
  void define(ValueId sequence, SequenceParts parts, const std::string& name);
  static void define(Graph& graph, ValueId sequence, const SequenceParts& parts, const std::string& name);
  /// Adds a kPackSequence, whose results are the values and shapes of the sequence as a packed part.
  static SequencePart pack_later(Graph& graph, const std::string& name, ValueId sequence, ElementType type);
  void pack(NodeId id);
  /// The type of the elements, as far as the graph shows it. A sequence without elements does not show it.
  static std::optional<ElementType> type_of(const Graph& graph, ValueId sequence);

  // ---- SequenceMap (sequence_map.cpp)
  void map(NodeId id);
  void map_in_loop(NodeId id);
  std::optional<size_t> known_length(const Node& n) const;
  std::vector<ValueId> map_element(const Node& n, size_t part);
  /// The sequence that is input `i` of the SequenceMap; null if that input is a tensor.
  const SequenceParts* mapped(const Node& n, size_t i) const;
  /// `values` also receives the values of the subgraph's outputs.
  void copy_body(const Graph& body, std::map<ValueId, ValueId>& values);

  // ---- loops (sequence_loops.cpp)
  /// True if the loop carries a sequence from iteration to iteration.
  bool sequence_state(const Node& n) const;
  std::optional<int64_t> iterations(const Node& n) const;
  bool unroll(NodeId id);
  void carry(NodeId id);
  void append_as_scan(NodeId id, size_t input, ValueId appended, SequenceParts sequence);
  void carry_packed(NodeId id, size_t input, ElementType type);

  // ---- bodies (sequence_bodies.cpp)
  bool pick_branch(NodeId id);
  void enter_bodies(NodeId id);
  void pass_captures(NodeId id);
  void pass_sequence(Node& n, ValueId outer, const std::vector<ValueId>& inner);
  void pass_outputs(NodeId id, const std::vector<std::unique_ptr<Sequences>>& bodies);
  void pass_elements(NodeId id, size_t output, const SequenceParts& then, const SequenceParts& otherwise);
  void pass_packed(NodeId id, size_t output, ElementType type, bool is_optional);

  Graph& graph_;
  std::map<ValueId, SequenceParts> known_;
  const Loops loops_;
};

}  // namespace gcg
