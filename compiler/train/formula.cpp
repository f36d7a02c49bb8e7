#include "compiler/train/formula.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/op_support.h"

namespace gcg {

const Value& Formula::value() const {
  GCG_CHECK(valid(), "a formula without a value is read");
  return writer->graph().value(id);
}

Formula FormulaWriter::scalar(DType dtype, double value) {
  Tensor t(dtype, {});
  t.set_double(0, value);
  return constant(std::move(t));
}

std::vector<Formula> FormulaWriter::results(const OpDef& op, const std::vector<Formula>& inputs,
                                            std::map<std::string, Attribute> attributes, size_t count) {
  std::vector<ValueId> ids;
  for (const Formula& input : inputs) ids.push_back(input.id);
  const NodeId node = graph_.add_node(op, name_, std::move(ids), static_cast<int>(count), std::move(attributes));
  infer_node(graph_, node, outermost_);
  std::vector<Formula> out;
  for (ValueId id : graph_.node(node).outputs) out.push_back(of(id));
  return out;
}

Formula FormulaWriter::make(const char* op_name, const std::vector<Formula>& inputs,
                            std::map<std::string, Attribute> attributes) {
  return results(op(op_name), inputs, std::move(attributes), 1)[0];
}

// ---- Arithmetic

namespace {

Formula number(const Formula& like, double value) { return like.writer->scalar(like.dtype(), value); }

}  // namespace

Formula operator+(Formula a, Formula b) { return a.writer->make("Add", {a, b}); }
Formula operator-(Formula a, Formula b) { return a.writer->make("Sub", {a, b}); }
Formula operator*(Formula a, Formula b) { return a.writer->make("Mul", {a, b}); }
Formula operator/(Formula a, Formula b) { return a.writer->make("Div", {a, b}); }
Formula operator+(Formula a, double b) { return a + number(a, b); }
Formula operator-(Formula a, double b) { return a - number(a, b); }
Formula operator*(Formula a, double b) { return a * number(a, b); }
Formula operator/(Formula a, double b) { return a / number(a, b); }
Formula operator-(double a, Formula b) { return number(b, a) - b; }
Formula operator/(double a, Formula b) { return number(b, a) / b; }
Formula operator-(Formula a) { return unary("Neg", a); }
Formula unary(const char* op_name, Formula x) { return x.writer->make(op_name, {x}); }
Formula power(Formula a, Formula b) { return a.writer->make("Pow", {a, b}); }
Formula power(Formula a, double b) { return power(a, number(a, b)); }
Formula compare(const char* op_name, Formula a, Formula b) { return a.writer->make(op_name, {a, b}); }
Formula compare(const char* op_name, Formula a, double b) { return compare(op_name, a, number(a, b)); }
Formula choose(Formula condition, Formula yes, Formula no) { return yes.writer->make("Where", {condition, yes, no}); }
Formula choose(Formula condition, Formula yes, double no) { return choose(condition, yes, number(yes, no)); }
Formula choose(Formula condition, double yes, Formula no) { return choose(condition, number(no, yes), no); }
Formula matmul(Formula a, Formula b) { return a.writer->make("MatMul", {a, b}); }

Formula cast(Formula x, DType to) {
  if (x.dtype() == to) return x;
  return x.writer->make("Cast", {x}, {{"to", static_cast<int64_t>(dtype_to_onnx(to))}});
}

// ---- Shapes

Formula shape_of(Formula x) {
  if (is_static(x.shape())) return x.writer->ints(to_extents(x.shape()));
  return unary("Shape", x);
}

Formula extents_of(Formula x, int64_t from, int64_t to) {
  const Shape part(x.shape().begin() + from, x.shape().begin() + to);
  if (is_static(part)) return x.writer->ints(to_extents(part));
  return x.writer->make("Shape", {x}, {{"start", from}, {"end", to}});
}

Formula extents_but(Formula x, int64_t axis, Formula extent) {
  std::vector<Formula> shape;
  if (axis > 0) shape.push_back(extents_of(x, 0, axis));
  shape.push_back(extent);
  if (axis + 1 < x.rank()) shape.push_back(extents_of(x, axis + 1, x.rank()));
  return join(shape, 0);
}

Formula count_of(Formula x, const std::vector<int64_t>& axes) {
  Dim count = 1;
  for (int64_t a : axes) count = count * x.shape()[static_cast<size_t>(a)];
  if (count.is_constant()) return number(x, static_cast<double>(count.constant()));
  std::vector<Formula> extents;
  for (int64_t a : axes) extents.push_back(extents_of(x, a, a + 1));
  return cast(x.writer->make("ReduceProd", {join(extents, 0)}, {{"keepdims", int64_t{0}}}), x.dtype());
}

Formula reshape(Formula x, const std::vector<int64_t>& shape) { return reshape(x, x.writer->ints(shape)); }
Formula reshape(Formula x, Formula shape) { return x.writer->make("Reshape", {x, shape}, {{"allowzero", int64_t{1}}}); }
Formula reshape_like(Formula x, Formula like) { return x.shape() == like.shape() ? x : reshape(x, shape_of(like)); }

Formula expand_like(Formula x, Formula like) {
  return x.shape() == like.shape() ? x : x.writer->make("Expand", {x, shape_of(like)});
}

Formula zeros_like(Formula x) { return zeros(x.dtype(), shape_of(x)); }
Formula zeros(DType dtype, Formula shape) {
  const TensorRef zero = std::make_shared<Tensor>(dtype, std::vector<int64_t>{1});
  return shape.writer->make("ConstantOfShape", {shape}, {{"value", zero}});
}

Formula transpose(Formula x, const std::vector<int64_t>& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  return x.writer->make("Transpose", {x}, {{"perm", permutation}});
}

Formula matrix_transpose(Formula x) {
  std::vector<int64_t> order = axes_from(0, x.rank());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}

Formula move_axis(Formula x, int64_t from, int64_t to) {
  std::vector<int64_t> order = axes_from(0, x.rank());
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return transpose(x, order);
}

Formula unsqueeze(Formula x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : x.writer->make("Unsqueeze", {x, x.writer->ints(axes)});
}
Formula squeeze(Formula x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : x.writer->make("Squeeze", {x, x.writer->ints(axes)});
}

Formula join(const std::vector<Formula>& parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : parts[0].writer->make("Concat", parts, {{"axis", axis}});
}

Formula slice(Formula x, int64_t axis, Formula from, Formula to) {
  return x.writer->make("Slice", {x, from, to, x.writer->ints({axis})});
}

Formula positions(Formula x) {
  FormulaWriter& w = *x.writer;
  const Dim size = product(x.shape());
  const Formula count = size.is_constant() ? w.constant(Tensor::scalar_i64(size.constant())) : unary("Size", x);
  return reshape(range(count), shape_of(x));
}

Formula add_at(Formula places, Formula g, Formula like) {
  const Formula flat = g.writer->make(
      "ScatterElements", {reshape(zeros(g.dtype(), shape_of(like)), {-1}), reshape(places, {-1}), reshape(g, {-1})},
      {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  return reshape(flat, shape_of(like));
}

Formula range(Formula count) {
  FormulaWriter& w = *count.writer;
  return w.make("Range", {w.constant(Tensor::scalar_i64(0)), count, w.constant(Tensor::scalar_i64(1))});
}

// ---- Reductions

Formula sum(Formula x, const std::vector<int64_t>& axes, bool keep) {
  if (axes.empty()) return x;
  return x.writer->make("ReduceSum", {x, x.writer->ints(axes)}, {{"keepdims", int64_t{keep}}});
}

Formula mean(Formula x, const std::vector<int64_t>& axes) {
  return x.writer->make("ReduceMean", {x, x.writer->ints(axes)}, {{"keepdims", int64_t{1}}});
}

Formula total(Formula x) { return sum(x, axes_from(0, x.rank()), false); }

std::vector<int64_t> axes_from(int64_t first, int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(std::max<int64_t>(rank - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Formula fit(Formula x, Formula like) {
  if (x.shape() == like.shape()) return x;
  const int64_t ahead = x.rank() - like.rank();
  std::vector<int64_t> axes, added;
  for (int64_t a = 0; a < std::max<int64_t>(ahead, 0); ++a) added.push_back(a);
  for (int64_t d = std::max<int64_t>(-ahead, 0); d < like.rank(); ++d)
    if (broadcasts(like.shape()[static_cast<size_t>(d)]) && !broadcasts(x.shape()[static_cast<size_t>(d + ahead)]))
      axes.push_back(d + ahead);
  x = sum(x, axes);
  x = sum(x, added, false);
  bool repeats = x.rank() < like.rank();
  for (size_t d = 0; !repeats && d < like.shape().size(); ++d)
    repeats = broadcasts(x.shape()[d]) && !(x.shape()[d] == like.shape()[d]);
  if (repeats) return expand_like(x, like);
  return reshape_like(x, like);  // extents that are not known to be equal are checked during the run
}

}  // namespace gcg
