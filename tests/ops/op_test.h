// One table row makes three checks of an operator: its reference against expected literals; its inferred type, shape
// and contents against the reference's results; its lowering, evaluated element by element, against the reference. The
// last two checks are repeated with symbols in place of all extents that may be symbolic.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/op_def.h"

namespace gcg::test {

struct OpInput {
  Tensor tensor;
  bool constant = false;  // its data is known to the compiler (a shape, axes, a weight)
  bool omitted = false;
};

struct OpCase {
  std::string what;  // one phrase: the subject of this row
  std::string op;
  std::vector<OpInput> inputs;
  std::map<std::string, Attribute> attributes = {};
  std::vector<Tensor> expected = {};  // empty: the reference is only compared with the lowering
  int outputs = 1;
  bool symbolic = true;     // also run with symbolic extents
  double tolerance = 2e-6;  // |got - want| <= tolerance * (1 + |want|) for floats; integers are exact
  std::string domain = {};
  int64_t channels = 0;  // for a result in blocked layout: number of lanes that count; 0: every element counts
};

/// A variant of a row: a graph with only the row's node. The graph's inputs are the row's inputs that are neither
/// constant nor omitted.
struct RowVariant {
  const OpCase& row;
  const Graph& graph;               // types inferred
  const std::vector<Tensor>& want;  // one per graph output, from the reference
};
/// An additional check of every variant of every row, for test programs that also compile or run the graph (null:
/// none).
extern void (*check_form_further)(const RowVariant& variant);

/// Runs the row; reports failures with its `what`. Returns the reference's results.
std::vector<Tensor> check_op(const OpCase& row);
/// The message with which inference (or, if that passes, the reference) refuses the row; empty if neither does.
std::string refusal(const OpCase& row);
/// The reference of the row, without any check.
std::vector<Tensor> run_reference(const OpCase& row);
/// Compares element by element; NaN equals NaN. `channels`: see
/// OpCase.
void expect_near(const Tensor& got, const Tensor& want, double tolerance, const std::string& what,
                 int64_t channels = 0);

// Tensors by literal; `values` of size 1 fills the whole shape.
Tensor tensor(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values);
inline Tensor f32(std::vector<int64_t> shape, const std::vector<double>& v) {
  return tensor(DType::f32, std::move(shape), v);
}
inline Tensor i64(std::vector<int64_t> shape, const std::vector<double>& v) {
  return tensor(DType::i64, std::move(shape), v);
}
inline Tensor bools(std::vector<int64_t> shape, const std::vector<double>& v) {
  return tensor(DType::boolean, std::move(shape), v);
}
/// Different small values, positive and negative where the dtype has them.
Tensor pattern(DType dtype, std::vector<int64_t> shape, int seed = 1);
inline OpInput known(Tensor t) { return {std::move(t), true}; }
inline OpInput known_ints(const std::vector<int64_t>& v) { return {Tensor::vector_i64(v), true}; }
inline OpInput data(Tensor t) { return {std::move(t)}; }
inline OpInput omitted() { return {{}, false, true}; }

}  // namespace gcg::test
