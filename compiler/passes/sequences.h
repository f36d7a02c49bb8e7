// How take_sequences_apart works on one graph: the model's, or a body.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/sequence_parts.h"
#include "compiler/support/unsupported.h"

namespace gcg {

/// One part's value and table, of all of a sequence's elements. It stands for them until the sequence is known, and is
/// nowhere but in this pass: it is in no list of operators.
extern const OpDef kPackSequence;

/// Does the operator make, or read, a sequence or an optional?
bool makes_sequence(const OpDef* op);
bool reads_sequence(const OpDef* op);

/// To be called where outputs of the node came, went or moved.
void number_outputs(Graph& graph, NodeId id);

class Sequences {
 public:
  /// What becomes of a loop that changes a sequence, in the order in which it is tried.
  enum class Loops : uint8_t {
    unroll,         // those of few, known iterations
    as_typed,       // appended elements become rows, where they have one shape; else a turn hands on packed parts
    append_anyhow,  // appended elements become rows, though their types are not known yet
  };

  Sequences(Graph& graph, Loops loops) : graph_(graph), loops_(loops) {}

  /// Takes apart what can be now.
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
  /// Outputs of the graph keep their value; they get a copy of one that is no node's result or an output, too.
  void replace(ValueId from, ValueId to);
  /// A value for a node that gets one more output.
  ValueId add_output(const std::string& hint);
  /// `sequence` has lost its producer: it gets one that lists the parts.
  void define(ValueId sequence, SequenceParts parts, const std::string& name);
  static void define(Graph& graph, ValueId sequence, const SequenceParts& parts, const std::string& name);
  /// A kPackSequence: its values and shapes are those of the sequence as a packed part.
  static SequencePart pack_later(Graph& graph, const std::string& name, ValueId sequence, ElementType type);
  void pack(NodeId id);
  /// The type of the elements as far as the graph tells, which a sequence without elements does not.
  static std::optional<ElementType> type_of(const Graph& graph, ValueId sequence);

  // ---- SequenceMap (sequence_map.cpp)
  void map(NodeId id);
  void map_in_loop(NodeId id);
  std::optional<size_t> known_length(const Node& n) const;
  std::vector<ValueId> map_element(const Node& n, size_t part);
  /// The sequence that is input `i` of the SequenceMap; null where that is a tensor.
  const SequenceParts* mapped(const Node& n, size_t i) const;
  /// `values` receives those of the body's outputs, too.
  void copy_body(const Graph& body, std::map<ValueId, ValueId>& values);

  // ---- loops (sequence_loops.cpp)
  /// Does a sequence go from turn to turn?
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
