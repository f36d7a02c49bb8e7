// Dropout. Outside of training it is the identity, with a mask of all true. In training it is gart.TrainingDropout,
// which drops elements at random.
#include "compiler/ops/expansion.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

enum : size_t { kX, kRatio, kTraining };

bool is_false(const Graph& graph, ValueId v) {
  const TensorRef& constant = graph.value(v).constant;
  return constant && constant->elements() == 1 && constant->at_int(0) == 0;
}

/// Moves the attribute `ratio` of older opsets to the input that replaced it.
void move_ratio(UpgradeContext& ctx) {
  if (ctx.version < 12 && ctx.node.has_attribute("ratio")) {
    Tensor ratio(DType::f32, {});
    ratio.set_double(0, ctx.node.float_attribute("ratio", 0.5));
    ctx.node.inputs.resize(kTraining);
    ctx.node.inputs[kRatio] = ctx.graph.add_constant(ctx.node.name + ".ratio", std::move(ratio));
  }
  ctx.node.attributes.erase("ratio");
}

/// A node with a seed needs the numbers of one specific generator, which ONNX does not define. The node stays a
/// Dropout, and is refused.
void upgrade_dropout(UpgradeContext& ctx) {
  if (ctx.version < 7 && ctx.node.int_attribute("is_test", 0) == 0)
    fail_node(ctx.node, "without is_test=1 it drops elements at random, which is for training");
  ctx.node.attributes.erase("is_test");
  move_ratio(ctx);
  if (!ctx.node.has_attribute("seed") && ctx.node.inputs.size() > kTraining && ctx.node.inputs[kTraining].valid() &&
      !is_false(ctx.graph, ctx.node.inputs[kTraining]))
    ctx.node.op = &op_gart_TrainingDropout.def;
}

void infer_dropout(InferContext& ctx) {
  if (ctx.has_input(kTraining)) {
    const auto training = ctx.int_contents(kTraining);
    if (!training || training->empty() || training->front() != 0)
      ctx.fail("training_mode must be a constant false if a seed is given: its random numbers cannot be reproduced");
  }
  ctx.set_output(0, ctx.dtype(kX), ctx.shape(kX));
  ctx.set_output(1, DType::boolean, ctx.shape(kX));
}

Expr lower_dropout(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  return output == 0 ? ctx.input(0, at) : boolean(true);
}

std::vector<Tensor> reference_dropout(ReferenceContext& ctx) {
  std::vector<Tensor> outputs{*ctx.input(0)};
  if (ctx.output_count() < 2) return outputs;
  Tensor mask(DType::boolean, ctx.input(0)->shape());
  for (int64_t i = 0; i < mask.elements(); ++i) mask.set_int(i, 1);
  outputs.push_back(std::move(mask));
  return outputs;
}

/// x / (1 - ratio) if a random number is at least the ratio, else 0. Without training the ratio is 0.
std::vector<ValueId> expand_training(Expansion& e) {
  const DType dtype = e.dtype(kX);
  ValueId ratio = e.has_input(kRatio) ? e.cast(e.input(kRatio), DType::f32) : e.scalar(DType::f32, 0.5);
  if (e.has_input(kTraining)) ratio = e.multiply(ratio, e.cast(e.input(kTraining), DType::f32));
  const std::map<std::string, Attribute> drawn = {{"dtype", int64_t{dtype_to_onnx(DType::f32)}}};
  const ValueId keeps = e.node("GreaterOrEqual", {e.node("RandomUniformLike", {e.input(kX)}, drawn), ratio});
  const ValueId scale = e.cast(e.node("Reciprocal", {e.subtract(e.scalar(DType::f32, 1), ratio)}), dtype);
  return {e.node("Where", {keeps, e.multiply(e.input(kX), scale), e.scalar(dtype, 0)}), keeps};
}

}  // namespace

constinit const OpDef op_Dropout{.name = "Dropout",
                                 .since = 1,
                                 .min_inputs = 1,
                                 .max_inputs = 3,
                                 .max_outputs = 2,
                                 .types = {Types::any, Types::floats, Types::booleans},
                                 .results = {Types::as_first, Types::booleans},
                                 .kind = OpKind::pointwise,
                                 .upgrade = upgrade_dropout,
                                 .infer = infer_dropout,
                                 .lower = lower_dropout,
                                 .reference = reference_dropout};
constinit const ExpandedOp op_gart_TrainingDropout = giving(
    {Types::as_first, Types::booleans},
    expanded("TrainingDropout", "gart", 1, 1, 3, {Types::floats, Types::floats, Types::booleans}, expand_training, 2));

}  // namespace gcg
