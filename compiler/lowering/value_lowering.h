// Lowers values to expressions: inlines producers up to values that have storage.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "compiler/ir/graph.h"
#include "compiler/kernel/expr.h"
#include "compiler/lowering/constant_band.h"
#include "compiler/ops/op_def.h"

namespace gcg {

/// Turns "element of value v at this index" into an expression. Its loads read only values for which `stored` returns a
/// storage. Loads carry an operand number. Operand i is operands()[i]: the storage `stored(v)`, viewed with the shape
/// of v.
class ValueLowering {
 public:
  struct StoredOperand {
    ValueId value;    // gives the operand's shape and dtype
    ValueId storage;  // the value that owns the storage
  };
  /// The value whose storage holds v, or none if v must be computed in place.
  using StorageOf = std::function<ValueId(ValueId)>;

  ValueLowering(const Graph& graph, StorageOf stored) : graph_(graph), stored_(std::move(stored)) {}

  /// Element of `v`: a load if `v` is stored, else the producer's expression.
  Expr element(ValueId v, const std::vector<Expr>& index);
  /// The same, with the element's row-major number as index.
  Expr flat_element(ValueId v, const Expr& position);
  /// Element of `v` from its producer, even if it is stored.
  Expr computed(ValueId v, const std::vector<Expr>& index);
  /// Makes element(v, ...) the given expression for every index (a contraction's accumulator).
  void bind(ValueId v, Expr e) {
    bind(v, [e = std::move(e)](const std::vector<Expr>&) { return e; });
  }
  /// Makes element(v, index) the result of `element` (an input of a subgraph).
  using Element = std::function<Expr(const std::vector<Expr>&)>;
  void bind(ValueId v, Element element) { bound_[v] = std::move(element); }

  /// From this call on, elements of constants that are bands (constant_band.h) are computed from their positions.
  void compute_bands(bool does) { computes_bands_ = does; }

  Axis fresh_axis(const Dim& extent) { return Axis{next_axis_++, extent}; }
  const std::vector<StoredOperand>& operands() const { return operands_; }
  int operand_number(ValueId value, ValueId storage);
  /// The context that a node's `lower` and `program` receive. It refers to this object and to the node.
  std::unique_ptr<LowerContext> context(const Node& node);
  const Graph& graph() const { return graph_; }
  /// Extents of every axis made so far, for simplify_index.
  std::map<int, Dim> extents() const { return extents_; }
  std::vector<Axis> axes_for(const Shape& shape);

 private:
  friend class NodeLowerContext;
  Expr symbolic_content(const Value& value, const std::vector<Expr>& index);
  /// Element of a constant whose neighbours differ by one constant along each dimension, for example a range; null for
  /// any other constant.
  Expr even_element(ValueId v, const std::vector<Expr>& index);
  /// Element of a constant that is a band; null for any other.
  Expr band_element(ValueId v, const std::vector<Expr>& index);

  const Graph& graph_;
  StorageOf stored_;
  std::map<ValueId, Element> bound_;
  // By constant: the difference along each dimension; empty: differences vary.
  std::map<ValueId, std::vector<int64_t>> even_steps_;
  std::map<ValueId, std::optional<Band>> bands_;
  bool computes_bands_ = false;
  std::map<std::pair<ValueId, std::string>, Expr> memo_;
  std::vector<StoredOperand> operands_;
  std::map<int, Dim> extents_;
  int next_axis_ = 0;
};

}  // namespace gcg
