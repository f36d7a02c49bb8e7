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

/// Does the operator make, or read, a sequence or an optional?
bool makes_sequence(const OpDef* op);
bool reads_sequence(const OpDef* op);

class Sequences {
 public:
  using Known = std::map<ValueId, Parts>;

  /// `appends`: loops that cannot be unrolled append; else they are postponed. What a body captures is known in one
  /// turn only.
  Sequences(Graph& graph, Known known, bool appends) : graph_(graph), known_(std::move(known)), appends_(appends) {}

  /// Takes apart what can be now.
  void run() {
    for (NodeId id : graph_.order())
      if (!graph_.node(id).erased) visit(id);
  }

  const Parts* parts(ValueId v) const {
    const auto it = known_.find(v);
    return it == known_.end() ? nullptr : &it->second;
  }

  bool changed = false, is_postponed = false;
  std::vector<UnsupportedNode> rows;

 private:
  void visit(NodeId id);
  void reject(const Node& n, std::string why) { rows.push_back({n.name, n.op->name, n.op->domain, 0, std::move(why)}); }

  // ---- operators (sequence_operators.cpp)
  void make(NodeId id);
  void read(NodeId id);
  std::optional<ValueId> element_of_optional(const Node& n, const Parts* from) const;
  /// Outputs of the graph keep their value; they get a copy of one that is no node's result or an output, too.
  void replace(ValueId from, ValueId to);
  /// `sequence` has lost its producer: it gets one that lists the parts.
  void define(ValueId sequence, Parts parts, const std::string& name);

  // ---- SequenceMap (sequence_map.cpp)
  void map(NodeId id);
  bool are_alike(const Node& n) const;
  std::vector<ValueId> map_element(const Node& n, size_t part);
  std::vector<ValueId> map_stacked(const Node& n, size_t part);
  /// The sequence that is input `i` of the SequenceMap; null where that is a tensor.
  const Parts* mapped(const Node& n, size_t i) const;
  /// `values` receives those of the body's outputs, too.
  void copy_body(const Graph& body, std::map<ValueId, ValueId>& values);

  // ---- loops (sequence_loops.cpp)
  /// Does a sequence go from turn to turn?
  bool sequence_state(const Node& n) const;
  std::optional<int64_t> iterations(const Node& n) const;
  bool unroll(NodeId id);
  void append_as_scan(NodeId id);
  bool append_as_scan(NodeId id, size_t input, Parts sequence);

  // ---- bodies (sequence_bodies.cpp)
  bool pick_branch(NodeId id);
  void enter_bodies(NodeId id);
  void pass_captures(NodeId id, std::vector<Known>& inside);
  void pass_sequence(Node& n, ValueId outer, const std::vector<ValueId>& inner, std::vector<Known>& inside);
  void pass_outputs(NodeId id, const std::vector<std::unique_ptr<Sequences>>& bodies);

  Graph& graph_;
  Known known_;
  const bool appends_;
};

}  // namespace gcg
