// Gradients of pools. MaxPool gives the gradient to the first of several equal elements.
#include "compiler/train/windows.h"

namespace gcg {
namespace {

using C = GradientContext;

std::vector<int64_t> spatial_axes(Formula x) { return axes_from(2, x.rank()); }

/// Uses the second result, which holds the positions of the largest elements.
void max_pool_rule(C& c) {
  if (c.integer("storage_order", 0) != 0) c.fail("storage_order must be 0");
  c.set(0, add_at(c.y(1), c.g(), c.x()));
}

/// x with each channel of each image as an image of its own.
Formula planes(Formula x) { return reshape(x, join({x.writer->ints({-1, 1}), extents_of(x, 2, x.rank())}, 0)); }

/// A kernel of ones.
Formula ones(C& c, const std::vector<int64_t>& kernel, DType dtype) {
  std::vector<int64_t> shape = {1, 1};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  Tensor one(dtype, shape);
  for (int64_t i = 0; i < one.elements(); ++i) one.set_double(i, 1);
  return c.constant(std::move(one));
}

/// Adds the gradient of each window to all elements of the window.
Formula spread_windows(C& c, Formula g) {
  const Formula x = c.x();
  const std::vector<int64_t> kernel = c.node().ints_attribute("kernel_shape");
  const WindowSteps window = WindowSteps::of(c, x.shape(), to_shape(kernel), true);
  const Formula like = planes(x);
  return reshape_like(window.spread(planes(g), ones(c, kernel, g.dtype()), like, 1), x);
}

/// A pool of ones gives (elements inside the window) / (elements that count). Divided by the elements inside, this is
/// the share of one element.
void average_pool_rule(C& c) {
  const Formula g = c.g(), x = c.x();
  const std::vector<int64_t> kernel = c.node().ints_attribute("kernel_shape");
  const Formula one = zeros(x.dtype(), join({c.ints({1, 1}), extents_of(x, 2, x.rank())}, 0)) + 1;
  const Formula averages = c.make("AveragePool", {one}, c.node().attributes);
  const WindowSteps window = WindowSteps::of(c, x.shape(), to_shape(kernel), true);
  const Formula inside = window.gather(one, ones(c, kernel, x.dtype()), averages, 1);
  c.set(0, spread_windows(c, g * (averages / inside)));
}

void lp_pool_rule(C& c) {
  const double p = static_cast<double>(c.integer("p", 2));
  const Formula x = c.x(), y = c.y();
  const Formula share = choose(compare("Equal", y, 0), 0, c.g() * power(y, 1 - p));
  c.set(0, spread_windows(c, share) * power(unary("Abs", x), p - 1) * unary("Sign", x));
}

void global_average_rule(C& c) { c.set(0, c.g() / count_of(c.x(), spatial_axes(c.x()))); }

void global_max_rule(C& c) {
  const Formula hit = cast(compare("Equal", c.x(), c.y()), c.g().dtype());
  c.set(0, hit * (c.g() / sum(hit, spatial_axes(c.x()))));
}

void global_lp_rule(C& c) {
  const double p = static_cast<double>(c.integer("p", 2));
  const Formula x = c.x(), y = c.y();
  const Formula share = choose(compare("Equal", y, 0), 0, c.g() * power(y, 1 - p));
  c.set(0, share * power(unary("Abs", x), p - 1) * unary("Sign", x));
}

constexpr GradientRow kRows[] = {
    {"AveragePool", average_pool_rule},
    {"GlobalAveragePool", global_average_rule},
    {"GlobalLpPool", global_lp_rule},
    {"GlobalMaxPool", global_max_rule},
    {"LpPool", lp_pool_rule},
    {"MaxPool", max_pool_rule},
    {"MaxUnpool", gradient_of_expansion},
};

}  // namespace

std::span<const GradientRow> pool_gradients() { return kRows; }

}  // namespace gcg
