// Arithmetic with constants. Floats: a rule may turn -0 into +0, but not +0 into -0. It may reassociate a chain of
// constants. Otherwise results stay within one unit in the last place.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/float_range.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/canonicalize.h"
#include "compiler/passes/inline_body.h"

namespace gcg {
namespace {

bool same_type(const Rewriter& r, ValueId a, ValueId b) {
  return r.value(a).dtype == r.value(b).dtype && r.has_shape(a) && r.has_shape(b) && r.shape(a) == r.shape(b);
}

/// Add and Mul: moves the constant to the second place.
template <const OpDef& kOp>
bool constant_second(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  if (!r.constant(n.inputs[0]) || r.constant(n.inputs[1])) return false;
  return r.replace(n.outputs[0], r.add(kOp, n.name, {n.inputs[1], n.inputs[0]}));
}

/// True if x + 0 may differ from x, because x may be -0. A sum that started from 0 is never -0.
bool may_lose_sign(const Rewriter& r, const Node& add) {
  const Tensor& zero = *r.constant(add.inputs[1]);
  if (!is_float(zero.dtype())) return false;
  for (int64_t i = 0; i < zero.elements(); ++i)
    if (!std::signbit(zero.at_double(i))) {
      const NodeId producer = r.value(add.inputs[0]).producer;
      return !producer.valid() || r.graph.node(producer).op->kind != OpKind::contraction;
    }
  return false;
}

/// x + 0, x - 0, x * 1, x / 1
template <int kNeutral>
bool drop_neutral(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  return is_all(r.constant(n.inputs[1]), kNeutral) && same_type(r, n.inputs[0], n.outputs[0]) &&
         !(n.op == &op_Add && may_lose_sign(r, n)) && r.replace(n.outputs[0], n.inputs[0]);
}

/// Applies `f` to all elements.
template <class F>
Tensor mapped(const Tensor& t, F f) {
  Tensor out(t.dtype(), t.shape());
  for (int64_t i = 0; i < t.elements(); ++i) out.set_double(i, f(t.at_double(i)));
  return out;
}

/// x - c = x + (-c), exactly.
bool subtract_to_add(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const Tensor* c = r.constant(n.inputs[1]);
  if (!c || !is_float(c->dtype()) || r.constant(n.inputs[0])) return false;
  const ValueId negated = r.add_constant(n.name, mapped(*c, [](double v) { return -v; }));
  return r.replace(n.outputs[0], r.add(op_Add, n.name, {n.inputs[0], negated}));
}

/// True if x * (1/c) is within one unit in the last place of x / c. For f32 and f64 two roundings of half a unit each
/// guarantee this as long as 1/c is a normal number. The 16-bit types keep too few digits of 1/c unless it is a power
/// of two.
bool reciprocal_is_close(DType dtype, double c) {
  if (!std::isfinite(c) || c == 0) return false;
  int exponent = 0;
  const bool exact = std::abs(std::frexp(c, &exponent)) == 0.5;
  if (dtype == DType::f32) return std::abs(exponent) < 120;
  if (dtype == DType::f64) return std::abs(exponent) < 1000;
  return exact && std::abs(exponent) < 12;
}

bool divide_to_multiply(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const Tensor* c = r.constant(n.inputs[1]);
  if (!c || !is_float(c->dtype()) || r.constant(n.inputs[0])) return false;
  for (int64_t i = 0; i < c->elements(); ++i)
    if (!reciprocal_is_close(c->dtype(), c->at_double(i))) return false;
  const ValueId inverse = r.add_constant(n.name, mapped(*c, [](double v) { return 1 / v; }));
  return r.replace(n.outputs[0], r.add(op_Mul, n.name, {n.inputs[0], inverse}));
}

/// (x op c) op d = x op (c op d), if no new constant is larger than both. The inner result must have no other reader.
template <const OpDef& kOp>
bool merge_constants(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const Node* inner = r.producer(n.inputs[0], kOp);
  if (!inner || r.uses(n.inputs[0]) != 1) return false;
  const Tensor *c = r.constant(inner->inputs[1]), *d = r.constant(n.inputs[1]);
  if (!c || !d || r.constant(inner->inputs[0])) return false;
  const ValueId both = r.add(kOp, n.name, {inner->inputs[1], n.inputs[1]});
  const Dim elements = product(r.shape(both));
  if (elements.constant() > std::max(c->elements(), d->elements())) {
    r.erase_if_dead(r.value(both).producer);
    return false;
  }
  return r.replace(n.outputs[0], r.add(kOp, n.name, {inner->inputs[0], both}));
}

/// True if no element can be negative or -0, for any data.
bool is_never_negative(const Rewriter& r, ValueId v) {
  if (const Tensor* c = r.constant(v)) {
    for (int64_t i = 0; i < c->elements(); ++i)
      if (!(c->at_double(i) > 0)) return false;
    return true;
  }
  const NodeId id = r.value(v).producer;
  if (!id.valid()) return false;
  const Node& n = r.graph.node(id);
  if (n.op == &op_Mul && n.inputs[0] == n.inputs[1]) return true;
  if (n.op == &op_Abs || n.op == &op_Exp || n.op == &op_ReduceSumSquare || n.op == &op_ReduceL2) return true;
  const bool of_first = n.op == &op_ReduceSum || n.op == &op_ReduceMean || n.op->kind == OpKind::view;
  if (of_first) return is_never_negative(r, n.inputs[0]);
  if (n.op != &op_Add && n.op != &op_Mul && n.op != &op_Div) return false;
  return is_never_negative(r, n.inputs[0]) && is_never_negative(r, n.inputs[1]);
}

/// x^0.5 and x^-0.5. Roots of -infinity and -0 differ from the powers; kernels handle these if they can occur.
bool simplify_root(Rewriter& r, const Node& n, double e) {
  const ValueId x = n.inputs[0], y = n.outputs[0];
  if (e == 0.5 && !is_never_negative(r, x)) return false;
  const ValueId half = r.add_constant(n.name, mapped(*r.constant(n.inputs[1]), [](double) { return 0.5; }));
  const ValueId root = is_never_negative(r, x) ? r.add(op_Sqrt, n.name, {x}) : r.add(op_Pow, n.name, {x, half});
  return r.replace(y, e == 0.5 ? root : r.add(op_Reciprocal, n.name, {root}));
}

bool simplify_pow(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const Tensor* exponent = r.constant(n.inputs[1]);
  const ValueId x = n.inputs[0], y = n.outputs[0];
  if (!exponent || exponent->elements() == 0 || !same_type(r, x, y)) return false;
  const double e = exponent->at_double(0);
  if (!is_all(exponent, e)) return false;
  if (e == 1) return r.replace(y, x);
  if (e == 2) return r.replace(y, r.add(op_Mul, n.name, {x, x}));
  if (e == 3) return r.replace(y, r.add(op_Mul, n.name, {r.add(op_Mul, n.name, {x, x}), x}));
  if (!is_float(r.value(x).dtype)) return false;
  if (std::abs(e) == 0.5) return simplify_root(r, n, e);
  if (e == -1) return r.replace(y, r.add(op_Reciprocal, n.name, {x}));
  return false;
}

// ---- Clip

struct Bounds {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

/// The bounds of a Clip or Relu of floats, if they are constants. A missing bound is the type's largest number.
std::optional<Bounds> bounds_of(const Rewriter& r, const Node& n) {
  Bounds b;
  if (!is_float(r.value(n.inputs[0]).dtype)) return std::nullopt;
  if (n.op == &op_Relu) return Bounds{0, b.high};
  if (n.op != &op_Clip) return std::nullopt;
  const double largest = largest_float(r.value(n.inputs[0]).dtype);
  b = {-largest, largest};
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].valid()) continue;
    const Tensor* t = r.constant(n.inputs[i]);
    if (!t || t->elements() != 1) return std::nullopt;
    (i == 1 ? b.low : b.high) = t->at_double(0);
  }
  return b;
}

/// Clip(Clip(x)), Clip(Relu(x)) and Relu(Clip(x)) become one Clip; a Clip to infinite bounds is removed.
bool merge_clips(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const auto outer = bounds_of(r, n);
  if (!outer || std::isnan(outer->low) || std::isnan(outer->high)) return false;
  const Bounds none;
  if (outer->low == none.low && outer->high == none.high) return r.replace(n.outputs[0], n.inputs[0]);
  const Node* inner = r.producer(n.inputs[0], op_Clip);
  if (!inner) inner = r.producer(n.inputs[0], op_Relu);
  if (!inner) return false;
  const auto first = bounds_of(r, *inner);
  if (!first || !(first->low <= first->high)) return false;
  const Bounds merged{std::min(std::max(first->low, outer->low), outer->high),
                      std::min(std::max(first->high, outer->low), outer->high)};
  const DType dtype = r.value(n.outputs[0]).dtype;
  if (merged.low == 0 && merged.high == none.high)
    return r.replace(n.outputs[0], r.add(op_Relu, n.name, {inner->inputs[0]}));
  const auto bound = [&](double v) {
    if (std::abs(v) == largest_float(dtype)) return ValueId();
    Tensor t(dtype, {});
    t.set_double(0, v);
    return r.add_constant(n.name, std::move(t));
  };
  return r.replace(n.outputs[0], r.add(op_Clip, n.name, {inner->inputs[0], bound(merged.low), bound(merged.high)}));
}

// ---- Conditions

/// A Where whose condition is the same everywhere becomes the selected operand.
bool simplify_where(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const Tensor* condition = r.constant(n.inputs[0]);
  if (!condition || condition->elements() == 0) return false;
  const bool first = condition->at_int(0) != 0;
  if (!is_all(condition, first ? 1 : 0)) return false;
  const ValueId side = n.inputs[first ? 1 : 2], y = n.outputs[0];
  if (same_type(r, side, y)) return r.replace(y, side);
  if (!r.has_shape(y) || !is_static(r.shape(y))) return false;
  const ValueId target = r.add_constant(n.name, Tensor::vector_i64(to_extents(r.shape(y))));
  return r.replace(y, r.add(op_Expand, n.name, {side, target}));
}

bool drop_double_negation(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const Node* inner = r.producer(n.inputs[0], *n.op);
  return inner && r.replace(n.outputs[0], inner->inputs[0]);
}

bool inline_constant_if(Rewriter& r, NodeId id) {
  const Tensor* condition = r.constant(r.graph.node(id).inputs[0]);
  if (!condition || condition->elements() != 1) return false;
  inline_body(r.graph, id, condition->at_int(0) != 0 ? 0 : 1);
  r.forget_readers();
  // Infers the inlined nodes, because copies get symbols of their own.
  for (NodeId node : r.graph.order()) infer_node(r.graph, node, r.outermost);
  return true;
}

}  // namespace

const std::vector<RuleFor>& arithmetic_rules() {
  static const std::vector<RuleFor> rules = {{&op_Add, drop_neutral<0>},
                                             {&op_Sub, drop_neutral<0>},
                                             {&op_Mul, drop_neutral<1>},
                                             {&op_Div, drop_neutral<1>},
                                             {&op_Add, constant_second<op_Add>},
                                             {&op_Mul, constant_second<op_Mul>},
                                             {&op_Sub, subtract_to_add},
                                             {&op_Div, divide_to_multiply},
                                             {&op_Add, merge_constants<op_Add>},
                                             {&op_Mul, merge_constants<op_Mul>},
                                             {&op_Pow, simplify_pow},
                                             {&op_Clip, merge_clips},
                                             {&op_Relu, merge_clips},
                                             {&op_Where, simplify_where},
                                             {&op_Not, drop_double_negation},
                                             {&op_Neg, drop_double_negation},
                                             {&op_If, inline_constant_if}};
  return rules;
}

}  // namespace gcg
