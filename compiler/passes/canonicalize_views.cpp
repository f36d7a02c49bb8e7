// Nodes that change nothing, and the many ways to give the same elements another shape.
#include <optional>

#include "compiler/ops/gart_view.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/canonicalize.h"

namespace gcg {
namespace {

bool drop(Rewriter& r, NodeId id) { return r.replace(r.graph.node(id).outputs[0], r.graph.node(id).inputs[0]); }

bool drop_dropout(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  if (n.outputs.size() > 1 && n.outputs[1].valid() && r.is_read(n.outputs[1])) return false;
  const bool training = n.inputs.size() > 2 && n.inputs[2].valid() && !is_all(r.constant(n.inputs[2]), 0);
  return !training && drop(r, id);
}

bool same_type(const Rewriter& r, ValueId a, ValueId b) {
  return r.value(a).dtype == r.value(b).dtype && r.has_shape(a) && r.has_shape(b) && r.shape(a) == r.shape(b);
}

bool drop_cast(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  return same_type(r, n.inputs[0], n.outputs[0]) && drop(r, id);
}

/// CastLike(x, y) only reads the type of y.
bool cast_like_to_cast(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  auto attributes = n.attributes;
  attributes["to"] = static_cast<int64_t>(dtype_to_onnx(r.value(n.outputs[0]).dtype));
  return r.replace(n.outputs[0], r.add(op_Cast, n.name, {n.inputs[0]}, std::move(attributes)));
}

/// A gart.View of `x` with `shape`, or `x` itself if it has that shape already. Invalid if the view cannot be
/// expressed.
ValueId view_as(Rewriter& r, const std::string& name, ValueId x, const Shape& shape) {
  if (r.has_shape(x) && r.shape(x) == shape) return x;
  const auto params = express_view(r.graph, x, shape, r.graph.inputs);
  if (!params) return {};
  return r.add(op_gart_View, name, params->inputs, {{"shape", params->shape}});
}

bool to_view(Rewriter& r, NodeId id) {
  const std::string name = r.graph.node(id).name;
  const ValueId x = r.graph.node(id).inputs[0], y = r.graph.node(id).outputs[0];
  if (!r.has_shape(x) || !r.has_shape(y)) return false;
  const ValueId view = view_as(r, name, x, r.shape(y));
  return view.valid() && r.replace(y, view);
}

/// View(View(x)) reads x; View(x) of x's own shape is x.
bool merge_views(Rewriter& r, NodeId id) {
  const std::string name = r.graph.node(id).name;
  const ValueId x = r.graph.node(id).inputs[0], y = r.graph.node(id).outputs[0];
  if (same_type(r, x, y)) return r.replace(y, x);
  const Node* inner = r.producer(x, op_gart_View);
  if (!inner) return false;
  const ValueId view = view_as(r, name, inner->inputs[0], r.shape(y));
  return view.valid() && r.replace(y, view);
}

/// True if the two shapes differ only in how they divide rows into dimensions.
bool same_rows(const Shape& a, const Shape& b) {
  return a.size() >= 2 && b.size() >= 2 && a.back() == b.back() && a.back().is_constant() && a.back().constant() > 0;
}

/// MatMul(x, w), possibly with a vector added. Other nodes do not read its intermediate values.
struct RowProduct {
  std::string name, add_name;
  ValueId x, w, addend;  // addend: may be invalid
  bool addend_first = false;
};
std::optional<RowProduct> row_product(const Rewriter& r, ValueId v) {
  const auto is_vector = [&](ValueId x) { return r.has_shape(x) && r.shape(x).size() <= 1; };
  RowProduct found;
  if (r.uses(v) != 1) return {};
  if (const Node* add = r.producer(v, op_Add)) {
    found.add_name = add->name;
    found.addend_first = is_vector(add->inputs[0]);
    found.addend = add->inputs[found.addend_first ? 0 : 1];
    v = add->inputs[found.addend_first ? 1 : 0];
    if (!is_vector(found.addend) || r.uses(v) != 1) return {};
  }
  const Node* product = r.producer(v, op_MatMul);
  if (product == nullptr || r.shape(product->inputs[1]).size() != 2) return {};
  found.name = product->name;
  found.x = product->inputs[0];
  found.w = product->inputs[1];
  return found;
}

/// View(MatMul(x, w) + b) -> MatMul(View(x), w) + b if rows stay rows. Operators after the view can then fuse with the
/// product.
bool view_rows_of_factor(Rewriter& r, NodeId id) {
  const std::string name = r.graph.node(id).name;
  const ValueId v = r.graph.node(id).inputs[0], y = r.graph.node(id).outputs[0];
  if (!same_rows(r.shape(v), r.shape(y))) return false;
  const auto of = row_product(r, v);
  if (!of) return false;
  Shape rows = r.shape(y);
  rows.back() = r.shape(of->x).back();
  const ValueId x = view_as(r, name, of->x, rows);
  if (!x.valid()) return false;
  ValueId result = r.add(op_MatMul, of->name, {x, of->w});
  if (of->addend.valid())
    result = r.add(op_Add, of->add_name,
                   of->addend_first ? std::vector{of->addend, result} : std::vector{result, of->addend});
  return r.replace(y, result);
}

}  // namespace

const std::vector<RuleFor>& view_rules() {
  static const std::vector<RuleFor> rules = {{&op_Identity, drop},         {&op_Dropout, drop_dropout},
                                             {&op_Cast, drop_cast},        {&op_CastLike, cast_like_to_cast},
                                             {&op_Reshape, to_view},       {&op_Flatten, to_view},
                                             {&op_Squeeze, to_view},       {&op_Unsqueeze, to_view},
                                             {&op_gart_View, merge_views}, {&op_gart_View, view_rows_of_factor}};
  return rules;
}

}  // namespace gcg
