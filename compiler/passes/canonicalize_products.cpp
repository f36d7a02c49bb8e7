// Factors out of matrix products: exporters scale queries and keys before they multiply them, which would cost a pass
// over each; behind the product the factor is part of its epilogue.
#include "compiler/ops/ops.h"
#include "compiler/passes/canonicalize.h"

namespace gcg {
namespace {

/// x and c of x * c with one number c, seen through a transpose; invalid x if `v` is not of that form.
struct Scaled {
  ValueId x;
  double factor = 1;
};

Scaled scaled(Rewriter& r, ValueId v, int depth = 0) {
  if (const Node* t = r.producer(v, op_Transpose); t != nullptr && depth == 0) {
    const std::string name = t->name;
    const auto attributes = t->attributes;  // copies: adding a node may move `t`
    Scaled inner = scaled(r, t->inputs[0], 1);
    if (inner.x.valid()) inner.x = r.add(op_Transpose, name, {inner.x}, attributes);
    return inner;
  }
  const Node* m = r.producer(v, op_Mul);
  if (m == nullptr) return {};
  const Tensor* c = r.constant(m->inputs[1]);
  if (c == nullptr || c->elements() != 1 || !r.has_shape(m->inputs[0]) || !(r.shape(m->inputs[0]) == r.shape(v))) return {};
  return {m->inputs[0], c->at_double(0)};
}

/// (a * s) @ (b * t) = (a @ b) * (s * t)
bool scale_after_product(Rewriter& r, NodeId id) {
  const std::string name = r.graph.node(id).name;
  const ValueId left = r.graph.node(id).inputs[0], right = r.graph.node(id).inputs[1], out = r.graph.node(id).outputs[0];
  if (!r.has_shape(left) || !r.has_shape(right) || r.value(out).dtype != DType::f32) return false;
  const Scaled a = scaled(r, left), b = scaled(r, right);
  if (!a.x.valid() && !b.x.valid()) return false;
  Tensor factor(DType::f32, {});
  factor.set_double(0, a.factor * b.factor);
  const ValueId product = r.add(op_MatMul, name, {a.x.valid() ? a.x : left, b.x.valid() ? b.x : right});
  return r.replace(out, r.add(op_Mul, name, {product, r.add_constant(name, std::move(factor))}));
}

}  // namespace

const std::vector<RuleFor>& product_rules() {
  static const std::vector<RuleFor> rules = {{&op_MatMul, scale_after_product}};
  return rules;
}

}  // namespace gcg
