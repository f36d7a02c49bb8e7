// Gradients of convolutions. The gradient of Conv with respect to the data is a ConvTranspose, and the other way round.
#include "compiler/train/windows.h"

namespace gcg {
namespace {

using C = GradientContext;

Shape spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

void bias_rule(C& c) {
  std::vector<int64_t> rest = axes_from(2, c.g().rank());
  rest.insert(rest.begin(), 0);
  if (c.wants(2)) c.set(2, sum(c.g(), rest, false));
}

void conv_rule(C& c) {
  const Formula x = c.x(0), w = c.x(1), g = c.g();
  const int64_t groups = c.integer("group", 1);
  const WindowSteps window = WindowSteps::of(c, x.shape(), spatial(w.shape()), false);
  if (c.wants(0)) c.set(0, window.spread(g, w, x, groups));
  if (c.wants(1)) c.set(1, window.weights(x, g, w, groups));
  bias_rule(c);
}

void conv_transpose_rule(C& c) {
  const Formula x = c.x(0), w = c.x(1), g = c.g();
  const int64_t groups = c.integer("group", 1);
  const WindowSteps window = WindowSteps::of_transposed(c, x.shape(), w.shape());
  if (c.wants(0)) c.set(0, window.gather(g, w, x, groups));
  if (c.wants(1)) c.set(1, window.weights(g, x, w, groups));
  bias_rule(c);
}

constexpr GradientRow kRows[] = {{"Conv", conv_rule}, {"ConvTranspose", conv_transpose_rule}};

}  // namespace

std::span<const GradientRow> convolution_gradients() { return kRows; }

}  // namespace gcg
