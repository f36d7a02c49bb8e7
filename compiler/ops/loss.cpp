// NegativeLogLikelihoodLoss; SoftmaxCrossEntropyLoss is written with it.
#include "compiler/ops/index.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

enum : int { kLogProbability, kTarget, kWeight };

std::string reduction_of(const Node& node) { return node.string_attribute("reduction", "mean"); }

void infer_nll_loss(InferContext& ctx) {
  const std::string reduction = reduction_of(ctx.node());
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    ctx.fail(concat("attribute reduction is '", reduction, "', it must be 'none', 'sum' or 'mean'"));
  const Shape &x = ctx.shape(kLogProbability), &target = ctx.shape(kTarget);
  if (x.size() < 2 || target.size() + 1 != x.size())
    ctx.fail("the input must be [N, C, D1, ..] and the target [N, D1, ..]");
  for (size_t d = 0; d < target.size(); ++d) ctx.require_equal(target[d], x[d == 0 ? 0 : d + 1], "input and target");
  if (ctx.has_input(kWeight)) {
    if (ctx.rank(kWeight) != 1) ctx.fail("the weights (input 2) must be a vector");
    ctx.require_equal(ctx.shape(kWeight)[0], x[1], "weights and classes");
  }
  ctx.set_output(0, ctx.dtype(kLogProbability), reduction == "none" ? target : Shape());
}

/// The loss and the weight that one target element adds to the sums; both are 0 if it is ignored.
struct Term {
  Expr loss, weight;
};
Term term_of(LowerContext& ctx, const Index& at) {
  const Node& node = ctx.node();
  const Dim& classes = ctx.input_shape(kLogProbability)[1];
  const Expr label = cast(DType::i64, ctx.input(kTarget, at));
  const Expr ignored = node.has_attribute("ignore_index")
                           ? binary(BinaryOp::equal, label, index(node.int_attribute("ignore_index", 0)))
                           : boolean(false);
  // An invalid label gives an index out of range, which kernels report. An ignored label may have any value.
  const Expr target = select(ignored, clamp_index(label, classes), label);
  Index where = at;
  where.insert(where.begin() + 1, target);
  const Expr x = arithmetic_input(ctx, kLogProbability, where), zero = number(x->dtype, 0);
  Expr weight = ctx.has_input(kWeight) ? arithmetic_input(ctx, kWeight, {target}) : number(x->dtype, 1);
  weight = select(ignored, zero, weight);
  return {select(ignored, zero, zero - weight * x), weight};
}

Expr lower_nll_loss(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const std::string reduction = reduction_of(ctx.node());
  if (reduction == "none") return as_output(ctx, output, term_of(ctx, at).loss);
  const Shape& target = ctx.input_shape(kTarget);
  const std::vector<bool> all(target.size(), true);
  const auto total = [&](Expr Term::* part) {
    const Sweep s = sweep(ctx, target, all, Index(target.size(), index(0)));
    return reduce_over(ReduceOp::sum, s.axes, term_of(ctx, s.index).*part);
  };
  const Expr sum = total(&Term::loss);
  return as_output(ctx, output, reduction == "sum" ? sum : binary(BinaryOp::div, sum, total(&Term::weight)));
}

std::vector<Tensor> reference_nll_loss(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(kLogProbability), &target = *ctx.input(kTarget);
  const Tensor* weights = ctx.input_count() > kWeight ? ctx.input(kWeight) : nullptr;
  const std::string reduction = reduction_of(ctx.node());
  const int64_t classes = x.shape()[1], positions = x.elements() / std::max<int64_t>(x.shape()[0] * classes, 1);
  Tensor each(x.dtype(), target.shape());
  double sum = 0, weight_sum = 0;
  for (int64_t i = 0; i < target.elements(); ++i) {
    const int64_t label = target.at_int(i);
    if (ctx.node().has_attribute("ignore_index") && label == ctx.node().int_attribute("ignore_index", 0)) continue;
    if (label < 0 || label >= classes)
      fail_node(ctx.node(), concat("class ", label, " of element ", i, " is none of the ", classes));
    const double weight = weights ? weights->at_double(label) : 1;
    const double loss = -weight * x.at_double((i / positions * classes + label) * positions + i % positions);
    each.set_double(i, loss);
    sum += loss;
    weight_sum += weight;
  }
  if (reduction == "none") return {std::move(each)};
  Tensor y(x.dtype(), {});
  y.set_double(0, reduction == "sum" ? sum : sum / weight_sum);
  return {std::move(y)};
}

/// SoftmaxCrossEntropyLoss(scores, labels, weights) = NegativeLogLikelihoodLoss(LogSoftmax(scores), labels, weights).
/// Its second output is the LogSoftmax.
void upgrade_cross_entropy(UpgradeContext& ctx) {
  Node log_softmax;
  log_softmax.op = &op("LogSoftmax");
  log_softmax.name = ctx.node.name;
  log_softmax.inputs = {ctx.node.inputs.at(0)};
  log_softmax.attributes = {{"axis", int64_t{1}}};
  Value own;
  own.name = ctx.graph.unique_name(ctx.node.name + ".log_prob");
  const bool has_log_prob = ctx.node.outputs.size() > 1 && ctx.node.outputs[1].valid();
  log_softmax.outputs = {has_log_prob ? ctx.node.outputs[1] : ctx.graph.add_value(std::move(own))};
  ctx.node.inputs[0] = log_softmax.outputs[0];
  ctx.node.outputs.resize(1);
  ctx.node.op = &op_NegativeLogLikelihoodLoss;
  ctx.graph.add_node(std::move(log_softmax));
}

}  // namespace

constinit const OpDef op_NegativeLogLikelihoodLoss{.name = "NegativeLogLikelihoodLoss",
                                                   .since = 12,
                                                   .min_inputs = 2,
                                                   .max_inputs = 3,
                                                   .types = {Types::floats, Types::integers, Types::as_first},
                                                   .kind = OpKind::reduction,
                                                   .infer = infer_nll_loss,
                                                   .lower = lower_nll_loss,
                                                   .reference = reference_nll_loss};
/// An operator that exists only in imported models.
constinit const OpDef op_SoftmaxCrossEntropyLoss{.name = "SoftmaxCrossEntropyLoss",
                                                 .since = 12,
                                                 .min_inputs = 2,
                                                 .max_inputs = 3,
                                                 .max_outputs = 2,
                                                 .types = {Types::floats, Types::integers, Types::as_first},
                                                 .results = {Types::as_first},
                                                 .kind = OpKind::opaque,
                                                 .upgrade = upgrade_cross_entropy};

}  // namespace gcg
