#include "compiler/ops/spectrum.h"

#include <cmath>
#include <numbers>

#include "compiler/ops/movement.h"

namespace gcg {
namespace {

std::optional<Dim> known_scalar(const Value& value) {
  const auto dims = known_dims(value);
  if (!dims) return std::nullopt;
  return dims->size() == 1 ? std::optional<Dim>(dims->front()) : std::nullopt;
}

void require_parts(const Node& node, const Dim& parts) {
  if (!parts.is(1) && !parts.is(2))
    fail_node(node, concat("the last extent of the signal is ", parts.str(), ", it must be 1 (real) or 2 (complex)"));
}

void require_length(const Node& node, const Dim& length) {
  if (length.upper_bound().value_or(1) < 1) fail_node(node, concat("the length is ", length.str(), ", the least is 1"));
}

}  // namespace

std::optional<DftParams> dft_params(const Node& node, const Shape& x, const Value* length, const Value* axis) {
  const auto rank = static_cast<int64_t>(x.size());
  if (rank < 2) fail_node(node, concat("the input has ", rank, " dimensions, the least is 2"));
  require_parts(node, x.back());
  DftParams params;
  params.axis = rank - 2;
  if (axis) {
    const auto axes = known_ints(*axis);
    if (!axes || axes->size() != 1) return std::nullopt;
    if (axes->front() < -rank || axes->front() >= rank || wrap_axis(axes->front(), rank) == rank - 1)
      fail_node(node, concat("axis ", axes->front(), " out of range [", -rank, ", -2] and [0, ", rank - 2, "]"));
    params.axis = wrap_axis(axes->front(), rank);
  }
  Spectrum& s = params.spectrum;
  s.inverse = node.int_attribute("inverse", 0) != 0;
  s.onesided = node.int_attribute("onesided", 0) != 0;
  s.in_parts = x.back().constant();
  const bool to_real = s.inverse && s.onesided;
  const Dim& rows = x[static_cast<size_t>(params.axis)];
  s.length = to_real ? (rows - 1) * 2 : rows;
  if (length) {
    const auto known_length = known_scalar(*length);
    if (!known_length) return std::nullopt;
    s.length = *known_length;
  }
  require_length(node, s.length);
  const Dim half = floor_div(s.length, 2) + 1;
  s.in_rows = min(rows, to_real ? half : s.length);
  s.out_rows = s.onesided && !s.inverse ? half : s.length;
  s.out_parts = to_real ? 1 : 2;
  return params;
}

std::optional<StftParams> stft_params(const Node& node, const Shape& x, const Value& step, const Value* window,
                                      const Value* length) {
  if (x.size() != 2 && x.size() != 3) fail_node(node, concat("the signal has ", x.size(), " dimensions, not 3"));
  if (x.size() == 3) require_parts(node, x[2]);
  StftParams params;
  Spectrum& s = params.spectrum;
  s.onesided = node.int_attribute("onesided", 1) != 0;
  s.in_parts = x.size() == 3 ? x[2].constant() : 1;
  s.length = window ? window->shape->front() : x[1];
  if (length) {
    const auto known_length = known_scalar(*length);
    if (!known_length) return std::nullopt;
    s.length = *known_length;
  }
  require_length(node, s.length);
  s.in_rows = s.length;
  s.out_rows = s.onesided ? floor_div(s.length, 2) + 1 : s.length;
  const auto hop = known_scalar(step);
  if (!hop) return std::nullopt;
  if (hop->upper_bound().value_or(1) < 1) fail_node(node, concat("frame_step is ", hop->str(), ", the least is 1"));
  params.step = *hop;
  params.frames = floor_div(x[1] - s.length, params.step) + 1;
  if (params.frames.upper_bound().value_or(1) < 0)
    fail_node(node, concat("a frame of ", s.length.str(), " is longer than the signal of ", x[1].str()));
  return params;
}

double spectrum_weight(const Spectrum& spectrum, int64_t length, int64_t row, int64_t part, int64_t out_row,
                       int64_t out_part) {
  const double turns = static_cast<double>(row * out_row % length) / static_cast<double>(length);
  const double angle = (spectrum.inverse ? -2 : 2) * std::numbers::pi * turns;
  const double weight = part == out_part ? std::cos(angle) : part == 1 ? std::sin(angle) : -std::sin(angle);
  if (!spectrum.inverse) return weight;
  // In a one-sided transform, all rows but the first and the middle one also represent their conjugates.
  const bool twice = spectrum.onesided && row != 0 && 2 * row != length;
  return weight * (twice ? 2 : 1) / static_cast<double>(length);
}

}  // namespace gcg
