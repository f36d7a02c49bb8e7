// Gradients of losses, and of operators whose operands are only sizes. SoftmaxCrossEntropyLoss is imported as
// LogSoftmax and NegativeLogLikelihoodLoss.
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

/// A mask along axis 1, the classes: true where the class equals the label.
Formula at_label(C& c, Formula labels) {
  const Formula x = c.x(0);
  std::vector<int64_t> along(static_cast<size_t>(x.rank()), 1);
  along[1] = -1;
  const Formula count = reshape(extents_of(x, 1, 2), std::vector<int64_t>());
  return compare("Equal", unsqueeze(labels, {1}), reshape(range(count), along));
}

void nll_loss_rule(C& c) {
  const Formula x = c.x(0), labels = cast(c.x(1), DType::i64), hit = at_label(c, labels);
  const std::string reduction = c.node().string_attribute("reduction", "mean");
  if (c.wants(2)) c.fail("the class weights (input 2) have none");
  Formula weight = cast(hit, x.dtype());
  if (c.has_x(2)) {
    std::vector<int64_t> along(static_cast<size_t>(x.rank()), 1);
    along[1] = -1;
    weight = weight * reshape(c.x(2), along);
  }
  if (c.node().has_attribute("ignore_index")) {
    const Formula ignored = compare("Equal", labels, static_cast<double>(c.integer("ignore_index", 0)));
    weight = choose(unsqueeze(ignored, {1}), 0, weight);
  }
  const Formula g = reduction == "none" ? unsqueeze(c.g(), {1}) : c.g();
  c.set(0, reduction == "mean" ? weight * -(g / total(weight)) : weight * -g);
}

constexpr GradientRow kRows[] = {{"BlackmanWindow", zero_gradient},
                                 {"HammingWindow", zero_gradient},
                                 {"HannWindow", zero_gradient},
                                 {"MelWeightMatrix", zero_gradient},
                                 {"NegativeLogLikelihoodLoss", nll_loss_rule}};

}  // namespace

std::span<const GradientRow> loss_gradients() { return kRows; }

}  // namespace gcg
