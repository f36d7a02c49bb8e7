#include "compiler/ops/resize_params.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "compiler/ops/movement.h"

namespace gcg {
namespace {

template <size_t N>
void require_one_of(const Node& node, const char* attribute, const std::string& value,
                    const std::array<const char*, N>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  fail_node(node, concat("attribute ", attribute, " is '", value, "', which is not known"));
}

void read_attributes(const Node& node, ResizeParams& params) {
  params.mode = node.string_attribute("mode", "nearest");
  params.coordinates = node.string_attribute("coordinate_transformation_mode", "half_pixel");
  params.nearest = node.string_attribute("nearest_mode", "round_prefer_floor");
  require_one_of(node, "mode", params.mode, std::array{"nearest", "linear", "cubic"});
  require_one_of(node, "coordinate_transformation_mode", params.coordinates,
                 std::array{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                            "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  require_one_of(node, "nearest_mode", params.nearest,
                 std::array{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"});
  params.exclude_outside = node.int_attribute("exclude_outside", 0) != 0;
  params.cubic_a = node.float_attribute("cubic_coeff_a", -0.75);
  params.extrapolation = node.float_attribute("extrapolation_value", 0);
  params.antialias = node.int_attribute("antialias", 0) != 0 && params.mode != "nearest";
}

/// The listed dimensions; without `axes`, all of them.
std::vector<ResizedDim> listed_dims(const Node& node, const Shape& x, const Shape* y, const Value& list) {
  std::vector<int64_t> axes = node.ints_attribute("axes");
  const auto rank = static_cast<int64_t>(x.size());
  if (axes.empty()) {
    axes.resize(x.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  const auto count = static_cast<int64_t>(axes.size());
  if (list.shape->size() != 1 || (list.shape->front().is_constant() && !list.shape->front().is(count)))
    fail_node(node, concat("'", list.name, "' has shape ", str(*list.shape), ", it must be [", count, "]"));
  std::vector<ResizedDim> dims;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] < -rank || axes[k] >= rank)
      fail_node(node, concat("axis ", axes[k], " out of range [", -rank, ", ", rank, ")"));
    ResizedDim d;
    d.dim = static_cast<size_t>(wrap_axis(axes[k], rank));
    d.position = k;
    d.in = x[d.dim];
    if (y) d.out = (*y)[d.dim];
    dims.push_back(d);
  }
  return dims;
}

constexpr float kLeastScale = 0x1p-20F;  // a lower limit of scales, so that fractions stay far below 64 bits

/// up / down, reduced by their common factors.
Ratio reduced(const Dim& up, const Dim& down) {
  if (up.is(0)) return {};  // an empty output has no positions
  if (up.is_constant() && down.is_constant() && down.constant() > 0) {
    const int64_t common = std::max<int64_t>(std::gcd(up.constant(), down.constant()), 1);
    return {up.constant() / common, down.constant() / common};
  }
  if (const Dim factor = floor_div(up, down); factor.is_constant() && factor * down == up) return {factor, 1};
  if (const Dim factor = floor_div(down, up); factor.is_constant() && factor * up == down) return {1, factor};
  return {up, down};
}

constexpr int64_t kMostChecked = 8192;  // for symbolic extents, the extents and positions below this limit are tested

/// The extent that follows from a scale: the product in f32, rounded down. The scale itself was rounded from a
/// fraction. Nullopt if the extent is symbolic and the fraction gives another extent for some values.
std::optional<Dim> scaled_extent(const Dim& in, float scale, const Ratio& ratio) {
  const auto product = [&](int64_t n) { return static_cast<int64_t>(std::floor(static_cast<float>(n) * scale)); };
  if (in.is_constant()) return Dim(product(in.constant()));
  const int64_t up = ratio.up.constant(), down = ratio.down.constant();
  for (int64_t n = 1; n <= kMostChecked; ++n)
    if (product(n) != n * up / down) return std::nullopt;
  return floor_div(in * ratio.up, ratio.down);
}

void scale_dims(const Node& node, const Value& scales, std::vector<ResizedDim>& dims) {
  if (!scales.constant) return;
  for (ResizedDim& d : dims) {
    const auto scale = static_cast<float>(scales.constant->at_double(static_cast<int64_t>(d.position)));
    if (!(scale >= kLeastScale && scale <= 1 / kLeastScale))
      fail_node(node, concat("the scale of dimension ", d.dim, " is ", scale, ", it must lie in [", kLeastScale, ", ",
                             1 / kLeastScale, "]"));
    d.scale = scale;
    d.ratio = simplest_ratio(scale);
    if (auto out = scaled_extent(d.in, scale, *d.ratio)) d.out = std::move(out);
  }
}

/// Gives all dimensions the ratio of the one that changes the least ('not_larger') or the most ('not_smaller').
void keep_aspect_ratio(const Node& node, bool smallest, std::vector<ResizedDim>& dims) {
  const auto ratio_of = [&](const ResizedDim& d) {
    if (!d.in.is_constant() || !d.out->is_constant() || d.in.constant() < 1)
      fail_node(node, concat("keep_aspect_ratio_policy needs known extents, but dimension ", d.dim, " goes from ",
                             d.in.str(), " to ", d.out->str()));
    return static_cast<double>(d.out->constant()) / static_cast<double>(d.in.constant());
  };
  const auto less = [&](const ResizedDim& a, const ResizedDim& b) { return ratio_of(a) < ratio_of(b); };
  const ResizedDim& rules =
      smallest ? *std::min_element(dims.begin(), dims.end(), less) : *std::max_element(dims.begin(), dims.end(), less);
  ratio_of(rules);  // a single dimension was not compared with others, so check its ratio here
  const Ratio ratio = reduced(*rules.out, rules.in);
  for (ResizedDim& d : dims) {
    d.ratio = ratio;
    d.by_size = false;
    d.out = floor_div(d.in * ratio.up * 2 + ratio.down, ratio.down * 2);  // half up
  }
}

void size_dims(const Node& node, const Value& sizes, std::vector<ResizedDim>& dims, std::string& open_policy) {
  const std::string policy = node.string_attribute("keep_aspect_ratio_policy", "stretch");
  require_one_of(node, "keep_aspect_ratio_policy", policy, std::array{"stretch", "not_larger", "not_smaller"});
  const auto known = known_dims(sizes);
  if (!known && policy != "stretch") {
    open_policy = policy;
    return;
  }
  for (ResizedDim& d : dims) {
    if (known) d.out = (*known)[d.position];
    if (d.out && d.out->upper_bound().value_or(0) < 0)
      fail_node(node, concat("the size of dimension ", d.dim, " is ", d.out->str(), ", it must not be negative"));
    if (d.out && d.in.is(0) && !d.out->is(0))
      fail_node(node, concat("dimension ", d.dim, " is empty and cannot become ", d.out->str()));
    if (d.out) d.ratio = reduced(*d.out, d.in);
    d.by_size = true;
  }
  if (policy != "stretch") keep_aspect_ratio(node, policy == "not_larger", dims);
}

}  // namespace

Ratio simplest_ratio(float scale) {
  // Tries the convergents of the continued fraction of `scale`, up to the first one that rounds to it.
  int64_t up_before = 0, down_before = 1, up = 1, down = 0;
  for (double rest = scale; static_cast<float>(static_cast<double>(up) / static_cast<double>(down)) != scale;) {
    const double whole = std::floor(rest);
    const auto term = static_cast<int64_t>(whole);
    up_before = std::exchange(up, term * up + up_before);
    down_before = std::exchange(down, term * down + down_before);
    rest = 1 / (rest - whole);
  }
  return {up, down};
}

SourceLine source_line(const ResizeParams& params, const ResizedDim& d) {
  const Dim &up = d.ratio->up, &down = d.ratio->down;
  const std::string& how = params.coordinates;
  if (how == "asymmetric") return {down, 0, up};
  if (how == "tf_half_pixel_for_nn") return {down * 2, down, up * 2};
  // The last element of the output maps to the last element of the input. A single output element maps to the first.
  if (how == "align_corners" && d.by_size) return {d.in - 1, 0, max(*d.out - 1, 1)};
  // If a scale is given, the output's length before rounding down counts.
  if (how == "align_corners") return {(d.in - 1) * down, 0, max(d.in * up - down, 1)};
  // The centre of the output, before its length is rounded, maps to the centre of the input.
  if (how == "half_pixel_symmetric") return {down * 2, (d.in - 1) * up + (Dim(1) - *d.out) * down, up * 2};
  const Dim start = down - up;
  // A single element maps to the first.
  if (how == "pytorch_half_pixel") return {down * 2, start * min(*d.out - 1, 1), up * 2};
  return {down * 2, start, up * 2};
}

SourceLine same_floors(const SourceLine& line) {
  if (!line.slope.is_constant() || !line.start.is_constant() || !line.divisor.is_constant()) {
    if (line.slope.is(0)) return line;
    if (line.slope == line.divisor) return {1, floor_div(line.start, line.divisor), 1};
    const Dim factor = floor_div(line.divisor, line.slope);
    const bool divides = factor.is_constant() && factor * line.slope == line.divisor;
    return divides ? SourceLine{1, floor_div(line.start, line.slope), factor} : line;
  }
  const int64_t common = std::gcd(line.slope.constant(), line.divisor.constant());
  if (common <= 1) return line;
  return {line.slope.constant() / common, floor_div(line.start, common), line.divisor.constant() / common};
}

namespace {

/// The input position of output position i, computed in f32.
float position_in_floats(const std::string& how, float scale, float in, float out, float i) {
  if (how == "asymmetric") return i / scale;
  if (how == "tf_half_pixel_for_nn") return (i + 0.5F) / scale;
  if (how == "pytorch_half_pixel" && out <= 1) return 0;
  const float offset = how == "half_pixel_symmetric" ? in / 2 * (1 - out / (scale * in)) : 0;
  return offset + (i + 0.5F) / scale - 0.5F;
}

int64_t nearest_in_floats(const std::string& how, float scale, float x) {
  if (how == "floor" || (how == "simple" && scale >= 1)) return static_cast<int64_t>(std::floor(x));
  if (how == "ceil" || how == "simple") return static_cast<int64_t>(std::ceil(x));
  if (how == "round_prefer_floor" && x == std::floor(x) + 0.5F) return static_cast<int64_t>(std::floor(x));
  return static_cast<int64_t>(std::round(x));
}

}  // namespace

bool takes_exact_nearest(const ResizeParams& params, const ResizedDim& d) {
  // F32 is exact here, because whole numbers are multiplied before the division.
  if (params.coordinates == "align_corners") return true;
  if (!d.ratio->up.is_constant() || !d.ratio->down.is_constant()) return false;
  ResizedDim some = d;  // a symbolic extent is tested with many elements
  if (!d.out->is_constant() && params.coordinates != "half_pixel_symmetric") some.out = kMostChecked;
  const SourceLine line = nearest_line(params, some, source_line(params, some));
  if (!line.slope.is_constant() || !line.start.is_constant() || !line.divisor.is_constant()) return false;
  const int64_t slope = line.slope.constant(), start = line.start.constant(), divisor = line.divisor.constant();
  const auto number = [](const Dim& n, int64_t otherwise) { return n.is_constant() ? n.constant() : otherwise; };
  const int64_t up = d.ratio->up.constant(), down = d.ratio->down.constant();
  const int64_t in = number(d.in, kMostChecked * down), out = std::min(number(*d.out, kMostChecked), kMostChecked);
  const float scale = d.scale.value_or(static_cast<float>(up) / static_cast<float>(down));
  for (int64_t i = 0; i < out; ++i) {
    const int64_t at = slope * i + start, exact = at / divisor - (at % divisor < 0 ? 1 : 0);
    const float x = position_in_floats(params.coordinates, scale, static_cast<float>(in),
                                       static_cast<float>(number(*d.out, 2)), static_cast<float>(i));
    const int64_t floats = nearest_in_floats(params.nearest, scale, x);
    if (std::clamp<int64_t>(exact, 0, in - 1) != std::clamp<int64_t>(floats, 0, in - 1)) return false;
  }
  return true;
}

SourceLine nearest_line(const ResizeParams& params, const ResizedDim& d, const SourceLine& line) {
  const auto& [slope, start, divisor] = line;
  const bool shrinks = (d.ratio->down - d.ratio->up).lower_bound().value_or(-1) > 0;
  if (params.nearest == "floor" || (params.nearest == "simple" && !shrinks)) return same_floors(line);
  if (params.nearest == "ceil" || params.nearest == "simple") return same_floors({slope, start + divisor - 1, divisor});
  if (params.nearest == "round_prefer_ceil") return same_floors({slope * 2, start * 2 + divisor, divisor * 2});
  return same_floors({slope * 2, start * 2 + divisor - 1, divisor * 2});  // the ceiling of x - 1/2
}

ResizeParams resize_params(const Node& node, const Shape& x, const Shape* y, const Value* scales, const Value* sizes) {
  ResizeParams params;
  read_attributes(node, params);
  if (!scales == !sizes) fail_node(node, "either scales (input 2) or sizes (input 3) must be given");
  params.dims = listed_dims(node, x, y, scales ? *scales : *sizes);
  if (scales)
    scale_dims(node, *scales, params.dims);
  else
    size_dims(node, *sizes, params.dims, params.open_policy);
  if (params.antialias && !params.open_policy.empty())
    fail_node(node, "antialias=1 with keep_aspect_ratio_policy needs sizes that are known at compile time");
  if (params.antialias && params.crops())
    fail_node(node, "antialias=1 does not go with coordinate_transformation_mode 'tf_crop_and_resize'");
  return params;
}

}  // namespace gcg
