// Gradients of reductions, softmax and running sums. Equally large elements share the gradient of ReduceMax, as with
// torch.amax.
#include "compiler/ops/op_support.h"
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

std::vector<int64_t> reduced_axes(C& c) {
  const int64_t rank = c.x().rank();
  std::vector<int64_t> axes;
  if (c.has_x(1)) axes = c.known(1, "the axes");
  for (int64_t& a : axes) a = wrap_axis(a, rank);
  std::sort(axes.begin(), axes.end());
  if (axes.empty() && c.integer("noop_with_empty_axes", 0) == 0) return axes_from(0, rank);
  return axes;
}

/// A result of the reduction (or its gradient) with the reduced axes kept.
Formula with_reduced_axes(C& c, Formula result) {
  return c.integer("keepdims", 1) != 0 ? result : unsqueeze(result, reduced_axes(c));
}

void extreme_rule(C& c) {
  const Formula hit = cast(compare("Equal", c.x(), with_reduced_axes(c, c.y())), c.g().dtype());
  c.set(0, hit * (with_reduced_axes(c, c.g()) / sum(hit, reduced_axes(c))));
}

/// For each element: the product of all others along the axis. It is not computed by a division, because the element
/// may be 0.
Formula product_of_others(Formula x, int64_t axis) {
  FormulaWriter& w = *x.writer;
  const Formula along = w.constant(Tensor::scalar_i64(axis));
  const Formula before = w.make("CumProd", {x, along}, {{"exclusive", int64_t{1}}});
  return before * w.make("CumProd", {x, along}, {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}});
}

void product_rule(C& c) {
  const std::vector<int64_t> axes = reduced_axes(c);
  std::vector<Formula> partial = {c.x()};
  for (size_t i = 0; i + 1 < axes.size(); ++i)
    partial.push_back(c.make("ReduceProd", {partial.back(), c.ints({axes[i]})}));
  Formula g = with_reduced_axes(c, c.g());
  for (size_t i = axes.size(); i-- > 0;) g = g * product_of_others(partial[i], axes[i]);
  c.set(0, g);
}

void norm_rule(C& c) {
  const Formula y = with_reduced_axes(c, c.y());
  c.set(0, choose(compare("Equal", y, 0), 0, with_reduced_axes(c, c.g()) / y) * c.x());
}

void softmax_rule(C& c) { c.set(0, (c.g() - sum(c.g() * c.y(), {c.axis(-1)})) * c.y()); }

void log_softmax_rule(C& c) { c.set(0, c.g() - unary("Exp", c.y()) * sum(c.g(), {c.axis(-1)})); }

void running_sum_rule(C& c) {
  const std::map<std::string, Attribute> attributes = {{"exclusive", c.integer("exclusive", 0)},
                                                       {"reverse", int64_t{c.integer("reverse", 0) == 0}}};
  c.set(0, c.make("CumSum", {c.g(), c.x(1)}, attributes));
}

constexpr GradientRow kRows[] = {
    {"CumSum", running_sum_rule},
    {"LogSoftmax", log_softmax_rule},
    {"ReduceL1", [](C& c) { c.set(0, with_reduced_axes(c, c.g()) * unary("Sign", c.x())); }},
    {"ReduceL2", norm_rule},
    {"ReduceLogSum", [](C& c) { c.set(0, with_reduced_axes(c, c.g() * unary("Exp", -c.y()))); }},
    {"ReduceLogSumExp",
     [](C& c) { c.set(0, with_reduced_axes(c, c.g()) * unary("Exp", c.x() - with_reduced_axes(c, c.y()))); }},
    {"ReduceMax", extreme_rule},
    {"ReduceMean", [](C& c) { c.set(0, with_reduced_axes(c, c.g()) / count_of(c.x(), reduced_axes(c))); }},
    {"ReduceMin", extreme_rule},
    {"ReduceProd", product_rule},
    {"ReduceSum", [](C& c) { c.set(0, with_reduced_axes(c, c.g())); }},
    {"ReduceSumSquare", [](C& c) { c.set(0, with_reduced_axes(c, c.g()) * 2 * c.x()); }},
    {"Softmax", softmax_rule},
};

}  // namespace

std::span<const GradientRow> reduction_gradients() { return kRows; }

}  // namespace gcg
