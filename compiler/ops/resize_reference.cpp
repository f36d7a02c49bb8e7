// Resizes one dimension after the other, in double. Each output element is a weighted sum of input elements of its
// line.
#include "compiler/ops/resize_reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/ops/movement.h"
#include "compiler/ops/resize_params.h"

namespace gcg {
namespace {

struct Line {
  size_t dim = 0;
  int64_t in = 0, out = 0;
  double up = 1, down = 1;  // the scale is up / down
  float scale = 1;
  double length = 0;  // output length before rounding to a whole number
  double roi_start = 0, roi_end = 1;
};

struct Attributes {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75;
  bool exclude_outside = false, antialias = false;

  explicit Attributes(const Node& node)
      : mode(node.string_attribute("mode", "nearest")),
        coordinates(node.string_attribute("coordinate_transformation_mode", "half_pixel")),
        nearest(node.string_attribute("nearest_mode", "round_prefer_floor")),
        cubic_a(node.float_attribute("cubic_coeff_a", -0.75)),
        exclude_outside(node.int_attribute("exclude_outside", 0) != 0),
        antialias(node.int_attribute("antialias", 0) != 0) {}
};

double source_position(const Attributes& attributes, const Line& line, double i) {
  const auto in = static_cast<double>(line.in), out = static_cast<double>(line.out);
  const std::string& how = attributes.coordinates;
  if (how == "asymmetric") return i * line.down / line.up;
  if (how == "align_corners") return line.length <= 1 ? 0 : i * (in - 1) / (line.length - 1);
  if (how == "tf_half_pixel_for_nn") return (i + 0.5) * line.down / line.up;
  if (how == "tf_crop_and_resize") {
    const double start = line.roi_start * (in - 1), end = line.roi_end * (in - 1);
    return line.out == 1 ? (start + end) / 2 : start + i * (end - start) / (out - 1);
  }
  if (how == "pytorch_half_pixel" && line.out == 1) return 0;
  const double centre = (i + 0.5) * line.down / line.up - 0.5;
  return how == "half_pixel_symmetric" ? in / 2 * (1 - out / line.length) + centre : centre;
}

/// The position in f32. Its rounding decides which element is the nearest.
double float_position(const Attributes& attributes, const Line& line, int64_t i) {
  const auto in = static_cast<float>(line.in), out = static_cast<float>(line.out), at = static_cast<float>(i);
  const std::string& how = attributes.coordinates;
  if (how == "align_corners" || how == "tf_crop_and_resize") return source_position(attributes, line, at);
  if (how == "asymmetric") return at / line.scale;
  if (how == "tf_half_pixel_for_nn") return (at + 0.5F) / line.scale;
  if (how == "pytorch_half_pixel" && line.out == 1) return 0;
  const float offset = how == "half_pixel_symmetric" ? in / 2 * (1 - out / (line.scale * in)) : 0;
  return offset + (at + 0.5F) / line.scale - 0.5F;
}

int64_t nearest(const Attributes& attributes, const Line& line, double x) {
  double rounded = std::ceil(x - 0.5);
  if (attributes.nearest == "round_prefer_ceil") rounded = std::floor(x + 0.5);
  if (attributes.nearest == "floor" || (attributes.nearest == "simple" && line.up >= line.down))
    rounded = std::floor(x);
  if (attributes.nearest == "ceil" || (attributes.nearest == "simple" && line.up < line.down)) rounded = std::ceil(x);
  return static_cast<int64_t>(rounded);
}

double cubic_weight(double a, double distance) {
  const double s = std::abs(distance);
  if (s <= 1) return (a + 2) * s * s * s - (a + 3) * s * s + 1;
  return s < 2 ? a * s * s * s - 5 * a * s * s + 8 * a * s - 4 * a : 0;
}

struct Weighted {
  int64_t position;
  double weight;
};

/// The weights of a line that shrinks: their spacing is that of the result's elements, and their sum is 1.
std::vector<Weighted> stretched_weights(const Attributes& attributes, const Line& line, double x) {
  const double scale = std::min(line.up / line.down, 1.0), radius = attributes.mode == "linear" ? 1 / scale : 2 / scale;
  std::vector<Weighted> result;
  double sum = 0;
  for (auto p = static_cast<int64_t>(std::floor(x - radius)); static_cast<double>(p) <= x + radius; ++p) {
    const double distance = (static_cast<double>(p) - x) * scale;
    const double weight = attributes.mode == "linear" ? std::max(1 - std::abs(distance), 0.0)
                                                      : cubic_weight(attributes.cubic_a, distance);
    if (attributes.exclude_outside && (p < 0 || p >= line.in)) continue;
    result.push_back({std::clamp<int64_t>(p, 0, line.in - 1), weight});
    sum += weight;
  }
  for (Weighted& w : result) w.weight /= sum;
  return result;
}

std::vector<Weighted> weights(const Attributes& attributes, const Line& line, double x) {
  if (attributes.antialias && attributes.mode != "nearest") return stretched_weights(attributes, line, x);
  std::vector<Weighted> result;
  const auto first = static_cast<int64_t>(std::floor(x));
  if (attributes.mode == "nearest") {
    result = {{nearest(attributes, line, x), 1}};
  } else if (attributes.mode == "linear") {
    for (int64_t p : {first, first + 1}) result.push_back({p, 1 - std::abs(x - static_cast<double>(p))});
  } else {
    for (int64_t p = first - 1; p <= first + 2; ++p)
      result.push_back({p, cubic_weight(attributes.cubic_a, x - static_cast<double>(p))});
  }
  double sum = 0;
  for (Weighted& w : result) {
    const bool outside = w.position < 0 || w.position >= line.in;
    if (outside && attributes.exclude_outside && attributes.mode == "cubic") w.weight = 0;
    w.position = std::clamp<int64_t>(w.position, 0, line.in - 1);
    sum += w.weight;
  }
  if (attributes.exclude_outside)
    for (Weighted& w : result) w.weight /= sum;
  return result;
}

/// Values in double, or the input's element numbers if elements are only selected.
struct Values {
  std::vector<int64_t> shape;
  std::vector<double> data;
};

Values resized(const Attributes& attributes, const Line& line, const Values& x) {
  Values y{x.shape, {}};
  y.shape[line.dim] = line.out;
  const std::vector<int64_t> strides = row_major_strides(x.shape);
  for_each_index(y.shape, [&](const std::vector<int64_t>& at) {
    int64_t base = 0;
    for (size_t d = 0; d < at.size(); ++d) base += d == line.dim ? 0 : at[d] * strides[d];
    const int64_t i = at[line.dim];
    const double position = attributes.mode == "nearest" ? float_position(attributes, line, i)
                                                         : source_position(attributes, line, static_cast<double>(i));
    double sum = 0;
    for (const Weighted& w : weights(attributes, line, position))
      sum += w.weight * x.data[static_cast<size_t>(base + w.position * strides[line.dim])];
    y.data.push_back(sum);
  });
  return y;
}

/// Ratios and output extents from the sizes, under keep_aspect_ratio_policy.
void apply_policy(const std::string& policy, std::vector<Line>& lines) {
  if (policy == "stretch") return;
  Line chosen = lines[0];
  for (const Line& l : lines) {
    const bool smaller = l.up / l.down < chosen.up / chosen.down;
    if (smaller == (policy == "not_larger")) chosen = l;
  }
  for (Line& l : lines) {
    l.up = chosen.up;
    l.down = chosen.down;
    l.scale = static_cast<float>(l.up) / static_cast<float>(l.down);
    l.length = static_cast<double>(l.in) * l.up / l.down;
    l.out = static_cast<int64_t>(std::floor(l.length + 0.5));
  }
}

std::vector<Line> lines_of(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), *roi = ctx.input(1), *scales = ctx.input(2), *sizes = ctx.input(3);
  if (scales && scales->elements() == 0) scales = nullptr;
  std::vector<int64_t> axes = ctx.node().ints_attribute("axes");
  if (axes.empty()) {
    axes.resize(x.shape().size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::vector<Line> lines;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto at = static_cast<int64_t>(k), count = static_cast<int64_t>(axes.size());
    Line l;
    l.dim = static_cast<size_t>(wrap_axis(axes[k], x.rank()));
    l.in = x.shape()[l.dim];
    if (scales) {
      const Ratio ratio = simplest_ratio(static_cast<float>(scales->at_double(at)));
      l.up = static_cast<double>(ratio.up.constant());
      l.down = static_cast<double>(ratio.down.constant());
      l.length = static_cast<double>(l.in) * l.up / l.down;
      l.scale = static_cast<float>(scales->at_double(at));
      l.out = static_cast<int64_t>(std::floor(static_cast<float>(l.in) * l.scale));
    } else {
      l.out = sizes->at_int(at);
      l.up = l.length = static_cast<double>(l.out);
      l.down = static_cast<double>(l.in);
      l.scale = static_cast<float>(l.out) / static_cast<float>(l.in);
    }
    if (roi && roi->elements() == 2 * count) {
      l.roi_start = roi->at_double(at);
      l.roi_end = roi->at_double(at + count);
    }
    lines.push_back(l);
  }
  if (!scales) apply_policy(ctx.node().string_attribute("keep_aspect_ratio_policy", "stretch"), lines);
  return lines;
}

bool is_cropped_away(const Attributes& attributes, const std::vector<Line>& lines, const std::vector<int64_t>& at) {
  if (attributes.coordinates != "tf_crop_and_resize") return false;
  return std::any_of(lines.begin(), lines.end(), [&](const Line& l) {
    const double x = source_position(attributes, l, static_cast<double>(at[l.dim]));
    return x < 0 || x > static_cast<double>(l.in - 1);
  });
}

}  // namespace

std::vector<Tensor> reference_resize(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const Attributes attributes(ctx.node());
  const std::vector<Line> lines = lines_of(ctx);
  const bool chooses = attributes.mode == "nearest";
  Values values{x.shape(), {}};
  for (int64_t i = 0; i < x.elements(); ++i) values.data.push_back(chooses ? static_cast<double>(i) : x.at_double(i));
  for (const Line& line : lines) values = resized(attributes, line, values);
  Tensor y(x.dtype(), values.shape);
  const double extrapolation = ctx.node().float_attribute("extrapolation_value", 0);
  int64_t i = 0;
  for_each_index(values.shape, [&](const std::vector<int64_t>& at) {
    const double value = values.data[static_cast<size_t>(i)];
    if (is_cropped_away(attributes, lines, at))
      y.set_double(i, extrapolation);
    else if (chooses)
      copy_element(y, i, x, static_cast<int64_t>(value));
    else
      y.set_double(i, is_float(x.dtype()) ? value : value + std::copysign(0x1p-12, value));
    ++i;
  });
  return {std::move(y)};
}

}  // namespace gcg
