// Gradients of normalisations. A node that also returns statistics is expanded instead.
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/train/gradient_rule.h"

namespace gcg {
namespace {

using C = GradientContext;

Formula inverse_deviation(C& c, Formula variance) { return 1 / unary("Sqrt", variance + c.number("epsilon", 1e-5)); }

/// The gradient with respect to x of (x - mean) * inverse. `normal` is that result; mean and deviation are over `axes`.
Formula through_normal(Formula g, Formula normal, Formula inverse, const std::vector<int64_t>& axes) {
  return (g - mean(g, axes) - normal * mean(g * normal, axes)) * inverse;
}

void only_first(C& c) {
  for (size_t i = 1; i < c.node().outputs.size(); ++i)
    if (c.has_g(i)) c.fail(concat("the loss depends on its output ", i, ", and only output 0 has a gradient"));
}

void layer_norm_rule(C& c) {
  only_first(c);
  const Formula x = c.x(0), scale = cast(c.x(1), x.dtype()), g = c.g();
  const std::vector<int64_t> axes = axes_from(c.axis(-1), x.rank());
  const Formula centred = x - mean(x, axes), inverse = inverse_deviation(c, mean(centred * centred, axes));
  const Formula normal = centred * inverse;
  if (c.wants(0)) c.set(0, through_normal(g * scale, normal, inverse, axes));
  c.set(1, g * normal);
  c.set(2, g);
}

void rms_norm_rule(C& c) {
  const Formula x = c.x(0), scale = cast(c.x(1), x.dtype()), g = c.g();
  const std::vector<int64_t> axes = axes_from(c.axis(-1), x.rank());
  const Formula inverse = inverse_deviation(c, mean(x * x, axes)), normal = x * inverse, gs = g * scale;
  if (c.wants(0)) c.set(0, (gs - normal * mean(gs * normal, axes)) * inverse);
  c.set(1, g * normal);
}

/// A vector [C] as [1, C, 1, ...], for the shape of x.
Formula per_channel(Formula vector, Formula x) {
  std::vector<int64_t> shape(static_cast<size_t>(std::max<int64_t>(x.rank() - 1, 1)), 1);
  shape[0] = -1;
  return reshape(cast(vector, x.dtype()), shape);
}

std::vector<int64_t> all_but_channels(Formula x) {
  std::vector<int64_t> axes = axes_from(2, x.rank());
  axes.insert(axes.begin(), 0);
  return axes;
}

void batch_norm_rule(C& c) {
  const Formula x = c.x(0), g = c.g(), inverse = inverse_deviation(c, c.x(4));
  const Formula factor = cast(c.x(1), x.dtype()) * cast(inverse, x.dtype());
  if (c.wants(0)) c.set(0, g * per_channel(factor, x));
  const std::vector<int64_t> rest = all_but_channels(x);
  const Formula moment = sum(g * (x - per_channel(c.x(3), x)), rest, false), total = sum(g, rest, false);
  if (c.wants(1)) c.set(1, moment * cast(inverse, x.dtype()));
  c.set(2, total);
  if (c.wants(3)) c.set(3, -(total * factor));
  if (c.wants(4)) c.set(4, moment * factor * cast(inverse * inverse, x.dtype()) * -0.5);
}

/// Views x as rows [N, groups, channels of a group, all other extents].
void grouped_rule(C& c, int64_t groups, bool scale_per_group) {
  const Formula x = c.x(0);
  const Dim channels = x.shape()[1];
  if (!channels.is_constant()) c.fail(concat("the ", channels.str(), " channels must be a known number"));
  if (groups == 0) groups = channels.constant();
  const int64_t members = channels.constant() / groups;
  const auto rows = [&](Formula v) {
    const Formula shape = join({extents_of(v, 0, 1), c.ints({groups, members, -1})}, 0);
    return reshape(v, shape);
  };
  const std::vector<int64_t> axes = {2, 3};
  const Formula centred = rows(x) - mean(rows(x), axes), inverse = inverse_deviation(c, mean(centred * centred, axes));
  const Formula normal = centred * inverse, g = rows(c.g());
  const Formula scale = reshape(cast(c.x(1), x.dtype()), {groups, scale_per_group ? 1 : members, 1});
  if (c.wants(0)) c.set(0, reshape_like(through_normal(g * scale, normal, inverse, axes), x));
  const auto to_vector = [&](Formula v) { return reshape(fit(v, scale), {-1}); };
  if (c.wants(1)) c.set(1, to_vector(g * normal));
  if (c.wants(2)) c.set(2, to_vector(g));
}

void group_norm_rule(C& c) { grouped_rule(c, c.integer("num_groups", 1), c.integer("scale_per_group", 0) != 0); }

void lp_norm_rule(C& c) {
  const int64_t axis = c.axis(-1), p = c.integer("p", 2);
  const Formula x = c.x(), g = c.g(), inner = sum(g * c.y(), {axis});
  const Formula norm = p == 1 ? sum(unary("Abs", x), {axis}) : unary("Sqrt", sum(x * x, {axis}));
  const Formula slope = g - (p == 1 ? unary("Sign", x) : c.y()) * inner;
  c.set(0, choose(compare("Equal", norm, 0), 0, slope / norm));
}

void mean_variance_rule(C& c) {
  std::vector<int64_t> axes = c.node().ints_attribute("axes", {0, 2, 3});
  for (int64_t& a : axes) a = wrap_axis(a, c.x().rank());
  const Formula x = c.x(), centred = x - mean(x, axes);
  const Formula inverse = 1 / unary("Sqrt", mean(centred * centred, axes));
  c.set(0, through_normal(c.g(), centred * inverse, inverse, axes));
}

/// Sums over `size` neighbouring channels; `before` of them come before the element.
Formula window_sum(Formula x, int64_t size, int64_t before) {
  FormulaWriter& w = *x.writer;
  const Formula shape = join({extents_of(x, 0, 1), w.ints({1}), extents_of(x, 1, 2), w.ints({-1})}, 0);
  const std::map<std::string, Attribute> how = {{"kernel_shape", std::vector<int64_t>{size, 1}},
                                                {"pads", std::vector<int64_t>{before, 0, size - 1 - before, 0}},
                                                {"count_include_pad", int64_t{1}}};
  return reshape_like(w.make("AveragePool", {reshape(x, shape)}, how) * static_cast<double>(size), x);
}

void lrn_rule(C& c) {
  const int64_t size = c.integer("size", 1), before = (size - 1) / 2;
  const double slope = c.number("alpha", 1e-4) / static_cast<double>(size), beta = c.number("beta", 0.75);
  const Formula x = c.x(), g = c.g();
  const Formula base = window_sum(x * x, size, before) * slope + c.number("bias", 1);
  const Formula others = window_sum(g * x * power(base, -beta - 1), size, size - 1 - before);
  c.set(0, g * power(base, -beta) - x * others * (2 * slope * beta));
}

/// Each replica's loss depends on the value through the sums of all replicas.
void exchange_rule(C& c) { c.set(0, c.results(op_gart_Exchange, {c.g()}, {}, 1)[0]); }

constexpr GradientRow kRows[] = {
    {"BatchNormalization", batch_norm_rule},
    {"Exchange", exchange_rule, "gart"},
    {"GroupNormalization", group_norm_rule},
    {"InstanceNormalization", [](C& c) { grouped_rule(c, 0, false); }},
    {"LayerNormalization", layer_norm_rule},
    {"LpNormalization", lp_norm_rule},
    {"LRN", lrn_rule},
    {"MeanVarianceNormalization", mean_variance_rule},
    {"RMSNormalization", rms_norm_rule},
};

}  // namespace

std::span<const GradientRow> normalization_gradients() { return kRows; }

}  // namespace gcg
