// Identity-like nodes, and the many ways to say "the same elements under another shape".
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

/// CastLike(x, y) reads y for its type only.
bool cast_like_to_cast(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  auto attributes = n.attributes;
  attributes["to"] = static_cast<int64_t>(dtype_to_onnx(r.value(n.outputs[0]).dtype));
  return r.replace(n.outputs[0], r.add(op_Cast, n.name, {n.inputs[0]}, std::move(attributes)));
}

/// A gart.View of `x` with the type of `result`, or `x` itself if it has that type; invalid if it cannot be expressed.
ValueId view_as(Rewriter& r, const std::string& name, ValueId x, ValueId result) {
  if (same_type(r, x, result)) return x;
  const auto form = express_view(r.graph, x, r.shape(result), r.graph.inputs);
  if (!form) return {};
  return r.add(op_gart_View, name, form->inputs, {{"shape", form->shape}});
}

bool to_view(Rewriter& r, NodeId id) {
  const std::string name = r.graph.node(id).name;
  const ValueId x = r.graph.node(id).inputs[0], y = r.graph.node(id).outputs[0];
  if (!r.has_shape(x) || !r.has_shape(y)) return false;
  const ValueId view = view_as(r, name, x, y);
  return view.valid() && r.replace(y, view);
}

/// View(View(x)) reads x; View(x) of x's own shape is x.
bool merge_views(Rewriter& r, NodeId id) {
  const std::string name = r.graph.node(id).name;
  const ValueId x = r.graph.node(id).inputs[0], y = r.graph.node(id).outputs[0];
  if (same_type(r, x, y)) return r.replace(y, x);
  const Node* inner = r.producer(x, op_gart_View);
  if (!inner) return false;
  const ValueId view = view_as(r, name, inner->inputs[0], y);
  return view.valid() && r.replace(y, view);
}

}  // namespace

const std::vector<RuleFor>& view_rules() {
  static const std::vector<RuleFor> rules = {
      {&op_Identity, drop},        {&op_Dropout, drop_dropout}, {&op_Cast, drop_cast}, {&op_CastLike, cast_like_to_cast},
      {&op_Reshape, to_view},      {&op_Flatten, to_view},      {&op_Squeeze, to_view}, {&op_Unsqueeze, to_view},
      {&op_gart_View, merge_views}};
  return rules;
}

}  // namespace gcg
