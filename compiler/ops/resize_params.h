// The parameters of a Resize node: the dimensions that change, their ratios, and the input position of an output
// element.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/op_support.h"

namespace gcg {

/// Output extent over input extent.
struct Ratio {
  Dim up = 1, down = 1;
};

/// One dimension that `scales` or `sizes` lists.
struct ResizedDim {
  size_t dim = 0;  // of the input
  // Index in scales and sizes; in roi, the index of its start, and its end is `count` entries later.
  size_t position = 0;
  Dim in;
  std::optional<Dim> out;      // nullopt: unknown before the lowering, when the output's shape is known
  bool by_size = false;        // the ratio is the quotient of the extents
  std::optional<Ratio> ratio;  // nullopt: scales or sizes depend on data
  std::optional<float> scale;  // as written in the model
};

struct ResizeParams {
  std::string mode, coordinates, nearest;
  bool exclude_outside = false;
  // If a dimension shrinks, each weight function is stretched over proportionally more elements.
  bool antialias = false;
  double cubic_a = -0.75, extrapolation = 0;
  /// "not_larger" or "not_smaller" if the sizes depend on data and all dimensions must have one ratio; else empty.
  std::string open_policy;
  std::vector<ResizedDim> dims;

  bool crops() const { return coordinates == "tf_crop_and_resize"; }
  /// True if the number of taps is an extent of its own. With antialias, it depends on data if the scale does.
  bool has_open_window(const ResizedDim& d) const { return antialias && !d.ratio && !d.by_size; }
};

/// Reads the node. `y` is the output's shape, or null during inference. `scales` and `sizes` are null if omitted or
/// empty; exactly one must be given. Fails, naming the node, on invalid attributes and values.
ResizeParams resize_params(const Node& node, const Shape& x, const Shape* y, const Value* scales, const Value* sizes);

/// A simple fraction that rounds to the f32 `scale`: 0.6f is 3/5. Exporters round fractions, so the fraction gives
/// exact positions. The extents of results still come from the product in f32. Requires: scale in [2^-20, 2^20].
Ratio simplest_ratio(float scale);

/// Output position i maps to input position (slope * i + start) / divisor, divisor >= 1.
struct SourceLine {
  Dim slope, start, divisor = 1;
};
/// Requires: the ratio is known, and the node does not crop.
SourceLine source_line(const ResizeParams& params, const ResizedDim& d);

/// A line with the same floors and smaller numbers, if slope and divisor have a common factor.
SourceLine same_floors(const SourceLine& line);

/// True if `nearest_mode` takes the same elements on the exact line as at onnxruntime's f32 positions. The rounding of
/// f32 matters if a position is exactly an element, or exactly between two. Requires: the ratio is known, and the node
/// does not crop.
bool takes_exact_nearest(const ResizeParams& params, const ResizedDim& d);

/// The line whose floor is the element that `nearest_mode` takes on `line`.
SourceLine nearest_line(const ResizeParams& params, const ResizedDim& d, const SourceLine& line);

// resize_upgrade.cpp
void upgrade_resize(UpgradeContext& ctx);
void upgrade_upsample(UpgradeContext& ctx);

}  // namespace gcg
