#include "compiler/passes/fold_factors.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

/// The factors that multiply a value: one number, or one per element of its last dimension.
struct Factors {
  double number = 1;
  std::vector<double> last;  // empty: `number` everywhere

  bool uniform() const { return last.empty(); }
  double at(int64_t element) const {
    return uniform() ? number : last[static_cast<size_t>(element % static_cast<int64_t>(last.size()))];
  }
};

/// A constant that is to be multiplied: input `input` of `node`.
struct Scaling {
  NodeId node;
  size_t input;
  Factors factors;
};

/// The tensor times its factors. Null if an element of the result is not finite, because a sum of such products differs
/// from the factor times the sum.
TensorRef scaled(const Tensor& t, const Factors& f) {
  auto out = std::make_shared<Tensor>(t.dtype(), t.shape());
  for (int64_t i = 0; i < t.elements(); ++i) {
    out->set_double(i, t.at_double(i) * f.at(i));
    if (!std::isfinite(out->at_double(i))) return nullptr;
  }
  return out;
}

/// Walks from a value to the weights it comes from. Every value on the way must have a single reader.
class Walk {
 public:
  Walk(const Rewriter& r, Factors factors) : r_(r), factors_(std::move(factors)) {}

  /// The constants to multiply; empty if the walk finds none.
  std::vector<Scaling> from(ValueId v) {
    std::vector<Scaling> found;
    while (v.valid() && r_.uses(v) == 1 && r_.value(v).producer.valid()) {
      const NodeId id = r_.value(v).producer;
      const Node& n = r_.graph.node(id);
      if (n.op == &op_MatMul || n.op == &op_Conv) return finish(id, std::move(found));
      if (n.op == &op_Add ? !through_add(id, found) : !through_movement(n, v)) return {};
      v = n.inputs[0];
    }
    return {};
  }

 private:
  bool last_extent_stays(ValueId x, ValueId y) const {
    return !r_.shape(x).empty() && !r_.shape(y).empty() && r_.shape(x).back() == r_.shape(y).back();
  }

  /// Add(x, c): multiplies c as well.
  bool through_add(NodeId id, std::vector<Scaling>& found) const {
    const Node& n = r_.graph.node(id);
    const Tensor* c = r_.constant(n.inputs[1]);
    if (!c || r_.shape(n.inputs[0]) != r_.shape(n.outputs[0])) return false;
    if (!factors_.uniform() && (c->rank() == 0 || c->shape().back() != static_cast<int64_t>(factors_.last.size())))
      return false;
    found.push_back({id, 1, factors_});
    return true;
  }

  bool through_movement(const Node& n, ValueId v) {
    if (n.op == &op_gart_View) return factors_.uniform() || last_extent_stays(n.inputs[0], v);
    if (n.op == &op_Transpose) {
      const auto rank = static_cast<int64_t>(r_.shape(v).size());
      const std::vector<int64_t> perm = n.ints_attribute("perm");
      return factors_.uniform() || (!perm.empty() && perm.back() == rank - 1);
    }
    return n.op == &op_Split && through_split(n, v);
  }

  /// Split(x) divides the last dimension: only the part that became `v` is multiplied.
  bool through_split(const Node& n, ValueId v) {
    const Shape& x = r_.shape(n.inputs[0]);
    const auto rank = static_cast<int64_t>(x.size());
    const int64_t axis = n.int_attribute("axis", 0);
    if ((axis < 0 ? axis + rank : axis) != rank - 1 || !x.back().is_constant()) return false;
    std::vector<double> all;
    for (ValueId part : n.outputs) {
      if (!part.valid() || !r_.shape(part).back().is_constant()) return false;
      for (int64_t i = 0; i < r_.shape(part).back().constant(); ++i) all.push_back(part == v ? factors_.at(i) : 1);
    }
    if (static_cast<int64_t>(all.size()) != x.back().constant()) return false;
    factors_.last = std::move(all);
    return true;
  }

  std::vector<Scaling> finish(NodeId id, std::vector<Scaling> found) const {
    const Node& n = r_.graph.node(id);
    const Tensor* weights = r_.constant(n.inputs[1]);
    if (!weights || r_.uses(n.inputs[1]) != 1) return {};
    const bool matrix = n.op == &op_MatMul && weights->rank() == 2;
    if (n.op == &op_MatMul && !factors_.uniform() &&
        (!matrix || weights->shape()[1] != static_cast<int64_t>(factors_.last.size())))
      return {};
    if (n.op == &op_Conv && !factors_.uniform()) return {};
    found.push_back({id, 1, factors_});
    if (n.op == &op_Conv && n.inputs.size() > 2 && n.inputs[2].valid()) {
      if (!r_.constant(n.inputs[2])) return {};
      found.push_back({id, 2, factors_});
    }
    return found;
  }

  const Rewriter& r_;
  Factors factors_;
};

bool fold_factor(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const ValueId x = n.inputs[0], y = n.outputs[0];
  const Tensor* c = r.constant(n.inputs[1]);
  if (!c || c->elements() != 1 || !is_float(c->dtype()) || r.shape(x) != r.shape(y)) return false;
  const std::vector<Scaling> scalings = Walk(r, {c->at_double(0), {}}).from(x);
  std::vector<TensorRef> products;
  for (const Scaling& s : scalings)
    products.push_back(scaled(*r.constant(r.graph.node(s.node).inputs[s.input]), s.factors));
  if (scalings.empty() || std::count(products.begin(), products.end(), nullptr) > 0 || !r.replace(y, x)) return false;
  for (size_t i = 0; i < scalings.size(); ++i) {
    ValueId& input = r.graph.node(scalings[i].node).inputs[scalings[i].input];
    input = r.add_constant(r.value(input).name, *products[i]);
  }
  r.erase_if_dead(id);
  return true;
}

/// True for Mul(x, c) by one finite number.
bool is_scaling(const Rewriter& r, const Node& n) {
  if (n.op != &op_Mul) return false;
  const Tensor* c = r.constant(n.inputs[1]);
  return c && c->elements() == 1 && std::isfinite(c->at_double(0)) && !r.constant(n.inputs[0]) &&
         r.shape(n.inputs[0]) == r.shape(n.outputs[0]);
}

/// The Mul by one number from which the operand `v` comes through movement alone. Every value on the way has a single
/// reader.
NodeId scaling_after(const Rewriter& r, ValueId v) {
  while (r.uses(v) == 1 && r.value(v).producer.valid()) {
    const Node& n = r.graph.node(r.value(v).producer);
    if (is_scaling(r, n)) return r.value(v).producer;
    if (n.op != &op_gart_View && n.op != &op_Transpose && n.op != &op_Slice) break;
    v = n.inputs[0];
  }
  return {};
}

/// MatMul(c * a, b) = c * MatMul(a, b). A multiplication by c afterwards is free, and `a` can be read in place. 16-bit
/// types are excluded: products of attention's queries and keys would overflow unless the queries are scaled first.
bool sink_factor(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  const DType dtype = r.value(n.outputs[0]).dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return false;
  for (ValueId operand : n.inputs) {
    const NodeId scaling = scaling_after(r, operand);
    if (!scaling.valid()) continue;
    const std::vector<ValueId> x_and_factor = r.graph.node(scaling).inputs;
    Tensor factor(dtype, {});
    factor.set_double(0, r.constant(x_and_factor[1])->at_double(0));
    if (!r.replace(r.graph.node(scaling).outputs[0], x_and_factor[0])) continue;
    r.erase_if_dead(scaling);
    const ValueId product = r.add(op_MatMul, n.name, n.inputs);
    const ValueId scaled_product = r.add(op_Mul, n.name, {product, r.add_constant(n.name, std::move(factor))});
    r.replace(n.outputs[0], scaled_product);
    r.erase_if_dead(id);
    return true;
  }
  return false;
}

bool fold(Rewriter& r) {
  bool changed = false;
  for (NodeId id : r.graph.order())
    if (!r.graph.node(id).erased && r.graph.node(id).op == &op_Mul) changed |= fold_factor(r, id);
  for (NodeId id : r.graph.order())
    if (!r.graph.node(id).erased && r.graph.node(id).op == &op_MatMul) changed |= sink_factor(r, id);
  return changed;
}

}  // namespace

bool fold_factors(Graph& graph) { return edit_all(graph, fold); }

}  // namespace gcg
