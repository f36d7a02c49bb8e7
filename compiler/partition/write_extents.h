// Numbers that follow from extents, computed in a graph whose inputs have those extents.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// Adds the nodes that compute expressions over symbols from the extents of values.
class ExtentWriter {
 public:
  explicit ExtentWriter(Graph& graph) : graph_(graph) {}

  /// `symbol` is this extent of `value`. The first one said counts.
  void know(const std::string& symbol, ValueId value, int axis) { sources_.try_emplace(symbol, value, axis); }
  bool knows(const std::string& symbol) const { return sources_.count(symbol) != 0; }

  /// A value with the type and the known elements of `like` (Value::contents), which is of another graph. None where
  /// inference would not see that its elements are those. Requires: the symbols are known.
  ValueId write(const Value& like);

 private:
  ValueId number(const Dim& d);  // i64[1], once for each
  ValueId sum(const Dim& d);
  ValueId atom(const Dim::Atom& a);
  ValueId quotient(const Dim& a, const Dim& b);
  ValueId constant(int64_t v) { return graph_.add_constant(base_, Tensor::vector_i64({v})); }
  ValueId add(const char* op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {});

  Graph& graph_;
  std::string base_;  // of names
  std::map<std::string, std::pair<ValueId, int>> sources_;
  std::map<Dim, ValueId> numbers_;
};

/// Do the value's elements follow from extents, so that whoever wants it can compute it?
bool follows_from_extents(const Value& v);

}  // namespace gcg
