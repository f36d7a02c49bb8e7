// gart.Extent: one extent of another node's result that depends on data, as a number. gart.Bind: gives symbols their values.
#include "compiler/ops/data_extent.h"

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

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

std::vector<std::string> bound_symbols(const Node& bind) { return bind.strings_attribute("symbols"); }

constinit const OpDef op_gart_Extent{.name = "Extent",
                                     .domain = "gart",
                                     .min_inputs = 0,
                                     .max_inputs = -1,
                                     .kind = OpKind::reduction,
                                     .infer = infer_extent,
                                     .lower = lower_extent};
constinit const OpDef op_gart_Bind{.name = "Bind",
                                   .domain = "gart",
                                   .min_inputs = 1,
                                   .max_inputs = -1,
                                   .min_outputs = 0,
                                   .max_outputs = 0,
                                   .kind = OpKind::opaque,
                                   .infer = infer_bind};

}  // namespace gcg
