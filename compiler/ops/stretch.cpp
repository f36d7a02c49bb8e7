#include "compiler/ops/stretch.h"

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

constexpr const char* kAgree = "agree";

void infer_stretch(InferContext& ctx) {
  const Shape extents = written_dims(ctx.node());
  const Shape& x = ctx.shape(0);
  GCG_CHECK(extents.size() >= x.size(), "gart.Stretch: a lower rank");
  if (ctx.node().has_attribute(kAgree))
    for (size_t d = 0; d < x.size(); ++d) ctx.require_equal(x[d], extents[d], "extents of one name");
  ctx.set_output(0, ctx.dtype(0), extents);
}

/// Multiplies the index by 0 or 1, because a choice between two indices would not be affine.
Expr lower_stretch(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape &x = ctx.input_shape(0), &y = ctx.output_shape(0);
  const size_t skipped = y.size() - x.size();
  std::vector<Expr> from;
  for (size_t d = 0; d < x.size(); ++d) {
    const Expr& here = at[skipped + d];
    if (broadcasts(x[d]))
      from.push_back(index(0));
    else if (x[d] == y[skipped + d] || ctx.node().has_attribute(kAgree))
      from.push_back(here);
    else
      from.push_back(here * extent(max(min(x[d] - 1, 1), 0)));
  }
  return ctx.input(0, from);
}

/// The reference does not know the extents of results, so it only handles nodes that rename extents.
std::vector<Tensor> reference_stretch(ReferenceContext& ctx) {
  GCG_CHECK(ctx.node().has_attribute(kAgree), "gart.Stretch: the result's extents are not known");
  return {*ctx.input(0)};
}

}  // namespace

Shape written_dims(const Node& node) {
  Shape dims;
  for (const std::string& text : node.strings_attribute(kDimsAttribute)) dims.push_back(Dim::parse(text).value());
  return dims;
}

Node node_with_dims(const OpDef& op, const std::string& name, ValueId x, const Shape& extents) {
  Node node;
  node.op = &op;
  node.name = name;
  node.inputs = {x};
  std::vector<std::string> dims;
  for (const Dim& d : extents) dims.push_back(d.str());
  node.attributes[kDimsAttribute] = std::move(dims);
  return node;
}

Node stretch_node(const std::string& name, ValueId x, const Shape& extents) {
  return node_with_dims(op_gart_Stretch, name, x, extents);
}

Node agree_node(const std::string& name, ValueId x, const Shape& extents) {
  Node node = stretch_node(name, x, extents);
  node.attributes[kAgree] = int64_t{1};
  return node;
}

constinit const OpDef op_gart_Stretch{.name = "Stretch",
                                      .domain = "gart",
                                      .min_inputs = 1,
                                      .max_inputs = 1,
                                      .kind = OpKind::movement,
                                      .traits = {.cost = Cost::cheap, .is_strided = true},
                                      .infer = infer_stretch,
                                      .lower = lower_stretch,
                                      .reference = reference_stretch};
}  // namespace gcg
