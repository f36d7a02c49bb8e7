#include "compiler/ops/expansion.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_support.h"
#include "compiler/support/unsupported.h"

namespace gcg {

const Value& Expansion::value(size_t i) {
  if (!has_input(i)) fail(gcg::concat("input ", i, " is missing"));
  return graph().value(inputs_[i]);
}

const Tensor& Expansion::constant(size_t i, const char* what) {
  if (!value(i).constant) fail(gcg::concat(what, " (input ", i, ") must be constant"));
  return *value(i).constant;
}

int64_t Expansion::extent(size_t i, int64_t axis) {
  const Shape& s = shape(i);
  const auto rank = static_cast<int64_t>(s.size());
  if (axis < -rank || axis >= rank) fail(gcg::concat("input ", i, " has ", rank, " dimensions, it needs more"));
  const Dim& d = s[static_cast<size_t>(wrap_axis(axis, rank))];
  if (!d.is_constant()) fail(gcg::concat("dimension ", axis, " of input ", i, " must be a number, it is ", d.str()));
  return d.constant();
}

void Expansion::fail(const std::string& message) const { fail_node(*node_, message); }

std::map<std::string, Attribute> Expansion::attributes(std::initializer_list<const char*> names) const {
  std::map<std::string, Attribute> out;
  for (const char* name : names)
    if (const auto it = node_->attributes.find(name); it != node_->attributes.end()) out.insert(*it);
  return out;
}

namespace {

/// Copies the inputs of a node into a graph of their own.
std::vector<ValueId> copy_inputs(const InferContext& ctx, Graph& to) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) {
      inputs.emplace_back();
      continue;
    }
    Value copy = ctx.input(i);
    copy.name = to.unique_name(copy.name);
    copy.producer = NodeId();
    inputs.push_back(to.add_value(std::move(copy)));
  }
  return inputs;
}

/// Requires of the node the constraints of its expansion that use only symbols of the inputs' extents.
void take_constraints(InferContext& ctx, const Graph& inside) {
  std::set<std::string> known;
  for (int i = 0; i < ctx.input_count(); ++i)
    if (ctx.has_input(i) && ctx.input(i).shape)
      for (const Dim& d : *ctx.input(i).shape) known.merge(d.symbols());
  for (const DimConstraint& c : inside.constraints) {
    std::set<std::string> used = c.a.symbols();
    used.merge(c.b.symbols());
    if (std::includes(known.begin(), known.end(), used.begin(), used.end())) ctx.require_equal(c.a, c.b, c.reason);
  }
}

}  // namespace

void infer_expansion(InferContext& ctx) {
  Graph inside;
  Expansion expansion(inside, ctx.node(), copy_inputs(ctx, inside));
  const std::vector<ValueId> results = expand_of(*ctx.node().op)(expansion);
  try {
    for (NodeId n : inside.order()) infer_node(inside, n, inside);
  } catch (const NodeError& error) {
    expansion.fail(concat(error.node().op, ": ", error.node().why));
  }
  take_constraints(ctx, inside);
  for (int i = 0; i < ctx.output_count(); ++i) {
    if (!ctx.has_output(i)) continue;
    const auto at = static_cast<size_t>(i);
    if (at >= results.size() || !results[at].valid()) expansion.fail(concat("output ", i, " is not supported"));
    const Value& type = inside.value(results[at]);
    ctx.set_output(i, type.dtype, *type.shape);
    if (type.contents) ctx.set_contents(i, *type.contents);
  }
}

namespace {

const ExpandedOp* find_expanded(const OpDef& op) {
  static const std::map<const OpDef*, const ExpandedOp*> table = {
#define GCG_OP(name)
#define GCG_EXPANDED_OP(name) {&op_##name.def, &op_##name},
#include "compiler/ops/expanded_ops.inc"
#undef GCG_EXPANDED_OP
#undef GCG_OP
  };
  const auto found = table.find(&op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

Expand expand_of(const OpDef& op) {
  const ExpandedOp* found = find_expanded(op);
  return found == nullptr ? nullptr : found->expand;
}

bool has_batch_statistics(const OpDef& op) {
  const ExpandedOp* found = find_expanded(op);
  return found != nullptr && found->has_batch_statistics;
}

}  // namespace gcg
