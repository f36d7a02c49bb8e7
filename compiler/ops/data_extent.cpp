// gart.Extent: one data-dependent extent of another node's result, as a number. gart.DimValue: any extent as a number.
// gart.WithExtents: a tensor with renamed extents. gart.Bind: gives symbols their values.
#include "compiler/ops/data_extent.h"

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/stretch.h"

namespace gcg {
namespace {

constexpr const char* kOperator = "gart.of";
constexpr const char* kDomain = "gart.of_domain";
constexpr const char* kSymbol = "gart.symbol";

void infer_extent(InferContext& ctx) { ctx.set_output(0, DType::i64, {}); }

Expr lower_extent(LowerContext& ctx, int, const std::vector<Expr>&) {
  const Node& node = ctx.node();
  const OpDef& of = op(node.string_attribute(kOperator, ""), node.string_attribute(kDomain, ""));
  GCG_CHECK(of.data_extent != nullptr, node.name, ": the extents of ", of.name, " do not depend on data");
  return of.data_extent(ctx, static_cast<int>(node.int_attribute(kSymbol, 0)));
}

void infer_dim_value(InferContext& ctx) {
  ctx.set_output(0, DType::i64, {});
  ctx.set_contents(0, written_dims(ctx.node()));
}

Expr lower_dim_value(LowerContext& ctx, int, const std::vector<Expr>&) {
  return extent(written_dims(ctx.node()).at(0));
}

void infer_with_extents(InferContext& ctx) {
  const Shape extents = written_dims(ctx.node());
  GCG_CHECK(extents.size() == ctx.shape(0).size(), "gart.WithExtents: a name per dimension");
  ctx.set_output(0, ctx.dtype(0), extents);
}

Expr lower_with_extents(LowerContext& ctx, int, const std::vector<Expr>& at) { return ctx.input(0, at); }

void infer_bind(InferContext& ctx) {
  GCG_CHECK(static_cast<int>(bound_symbols(ctx.node()).size()) == ctx.input_count(), "gart.Bind: a value per symbol");
}

}  // namespace

Node extent_node(const Node& of, int symbol) {
  Node node;
  node.op = &op_gart_Extent;
  node.name = of.name;
  node.inputs = of.inputs;
  node.attributes = of.attributes;
  node.attributes.erase(kSymbolsAttribute);
  node.attributes[kOperator] = std::string(of.op->name);
  node.attributes[kDomain] = std::string(of.op->domain);
  node.attributes[kSymbol] = static_cast<int64_t>(symbol);
  return node;
}

Node dim_value_node(const std::string& name, const Dim& dim) {
  Node node;
  node.op = &op_gart_DimValue;
  node.name = name;
  node.attributes[kDimsAttribute] = std::vector<std::string>{dim.str()};
  return node;
}

Node with_extents_node(const std::string& name, ValueId x, const Shape& extents) {
  return node_with_dims(op_gart_WithExtents, name, x, extents);
}

std::vector<std::string> bound_symbols(const Node& bind) { return bind.strings_attribute("symbols"); }

constinit const OpDef op_gart_Extent{.name = "Extent",
                                     .domain = "gart",
                                     .min_inputs = 0,
                                     .max_inputs = -1,
                                     .kind = OpKind::reduction,
                                     .infer = infer_extent,
                                     .lower = lower_extent};
constinit const OpDef op_gart_DimValue{.name = "DimValue",
                                       .domain = "gart",
                                       .min_inputs = 0,
                                       .max_inputs = 0,
                                       .kind = OpKind::generator,
                                       .infer = infer_dim_value,
                                       .lower = lower_dim_value};
constinit const OpDef op_gart_WithExtents{.name = "WithExtents",
                                          .domain = "gart",
                                          .min_inputs = 1,
                                          .max_inputs = 1,
                                          .kind = OpKind::movement,
                                          .infer = infer_with_extents,
                                          .lower = lower_with_extents};
constinit const OpDef op_gart_Bind{.name = "Bind",
                                   .domain = "gart",
                                   .min_inputs = 1,
                                   .max_inputs = -1,
                                   .min_outputs = 0,
                                   .max_outputs = 0,
                                   .kind = OpKind::opaque,
                                   .infer = infer_bind};

}  // namespace gcg
