// Formulas over values of a graph: operators on them add nodes, which are typed at once.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

class FormulaWriter;

/// A value of the graph that a FormulaWriter extends.
struct Formula {
  FormulaWriter* writer = nullptr;
  ValueId id;

  bool valid() const { return id.valid(); }
  const Value& value() const;
  DType dtype() const { return value().dtype; }
  const Shape& shape() const { return *value().shape; }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
};

/// Adds typed nodes to a graph on behalf of the node `name`.
class FormulaWriter {
 public:
  FormulaWriter(Graph& graph, Graph& outermost, std::string name)
      : graph_(graph), outermost_(outermost), name_(std::move(name)) {}

  Graph& graph() { return graph_; }
  Graph& outermost() { return outermost_; }
  const std::string& name() const { return name_; }

  Formula of(ValueId id) { return {this, id}; }
  Formula constant(Tensor tensor) { return of(graph_.add_constant(name_ + ".constant", std::move(tensor))); }
  Formula ints(const std::vector<int64_t>& values) { return constant(Tensor::vector_i64(values)); }
  Formula scalar(DType dtype, double value);
  /// All results of a node of this operator. An invalid formula stands for an omitted input.
  std::vector<Formula> results(const OpDef& op, const std::vector<Formula>& inputs,
                               std::map<std::string, Attribute> attributes, size_t count);
  Formula make(const char* op_name, const std::vector<Formula>& inputs,
               std::map<std::string, Attribute> attributes = {});

 private:
  Graph& graph_;
  Graph& outermost_;
  std::string name_;
};

// ---- Arithmetic. A number takes the type of the formula that it is combined with.

Formula operator+(Formula a, Formula b);
Formula operator-(Formula a, Formula b);
Formula operator*(Formula a, Formula b);
Formula operator/(Formula a, Formula b);
Formula operator+(Formula a, double b);
Formula operator-(Formula a, double b);
Formula operator*(Formula a, double b);
Formula operator/(Formula a, double b);
Formula operator-(double a, Formula b);
Formula operator/(double a, Formula b);
Formula operator-(Formula a);
/// The operator of one input with this ONNX name: unary("Exp", x).
Formula unary(const char* op_name, Formula x);
Formula power(Formula a, Formula b);
Formula power(Formula a, double b);
Formula compare(const char* op_name, Formula a, Formula b);
Formula compare(const char* op_name, Formula a, double b);
Formula choose(Formula condition, Formula yes, Formula no);
Formula choose(Formula condition, Formula yes, double no);
Formula choose(Formula condition, double yes, Formula no);
Formula cast(Formula x, DType to);
Formula matmul(Formula a, Formula b);

// ---- Shapes

/// The extents as an i64 vector: a constant if all are known.
Formula shape_of(Formula x);
/// Extents [from, to) of x as an i64 vector.
Formula extents_of(Formula x, int64_t from, int64_t to);
/// All extents of x, except that this axis has another extent.
Formula extents_but(Formula x, int64_t axis, Formula extent);
/// The number of elements along these axes, as a scalar of x's type.
Formula count_of(Formula x, const std::vector<int64_t>& axes);
Formula reshape(Formula x, const std::vector<int64_t>& shape);
Formula reshape(Formula x, Formula shape);
Formula reshape_like(Formula x, Formula like);
Formula expand_like(Formula x, Formula like);
Formula zeros_like(Formula x);
/// Zeros; `shape` is a vector of i64.
Formula zeros(DType dtype, Formula shape);
Formula transpose(Formula x, const std::vector<int64_t>& permutation);
/// x with the last two axes swapped.
Formula matrix_transpose(Formula x);
/// x with axis `from` moved to position `to`.
Formula move_axis(Formula x, int64_t from, int64_t to);
Formula unsqueeze(Formula x, const std::vector<int64_t>& axes);
Formula squeeze(Formula x, const std::vector<int64_t>& axes);
/// Concat.
Formula join(const std::vector<Formula>& parts, int64_t axis);
/// x[..., from:to, ...] along one axis; `to` may be a vector of one element.
Formula slice(Formula x, int64_t axis, Formula from, Formula to);
/// {0, 1, ..., count - 1}; count is an i64 scalar.
Formula range(Formula count);
/// The number of each element, in row-major order, in the shape of x.
Formula positions(Formula x);
/// Zeros in the shape of `like`, to which each element of g is added at the position that `places` gives.
Formula add_at(Formula places, Formula g, Formula like);

// ---- Reductions

Formula sum(Formula x, const std::vector<int64_t>& axes, bool keep = true);
Formula mean(Formula x, const std::vector<int64_t>& axes);
/// The sum of all elements, a scalar.
Formula total(Formula x);
/// The axes from `first` to the last.
std::vector<int64_t> axes_from(int64_t first, int64_t rank);
/// x in the shape of `like`: sums over axes that broadcasting repeated, and repeats along axes of extent 1. Extents
/// that are not known to be equal are checked during the run.
Formula fit(Formula x, Formula like);

}  // namespace gcg
