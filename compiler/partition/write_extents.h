// Writes nodes that compute numbers from extents of a graph's inputs.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// Adds the nodes that compute expressions over symbols from the extents of values.
class ExtentWriter {
 public:
  explicit ExtentWriter(Graph& graph) : graph_(graph) {}

  /// Declares that `symbol` is this extent of `value`. The first declaration counts.
  void know(const std::string& symbol, ValueId value, int axis) { sources_.try_emplace(symbol, value, axis); }
  bool knows(const std::string& symbol) const { return sources_.count(symbol) != 0; }

  /// Writes a value with the type and the known elements (Value::contents) of `like`, which is in another graph.
  /// Returns none if type inference would not recognise these elements. Requires: the symbols are known.
  ValueId write(const Value& like);

 private:
  ValueId number(const Dim& d);  // i64[1], written once per number
  ValueId sum(const Dim& d);
  ValueId atom(const Dim::Atom& a);
  ValueId quotient(const Dim& a, const Dim& b);
  ValueId constant(int64_t v) { return graph_.add_constant(base_, Tensor::vector_i64({v})); }
  ValueId add(const char* op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {});

  Graph& graph_;
  std::string base_;  // prefix of names
  std::map<std::string, std::pair<ValueId, int>> sources_;
  std::map<Dim, ValueId> numbers_;
};

/// True if the value's elements follow from extents, so that every reader can compute them.
bool follows_from_extents(const Value& v);

}  // namespace gcg
