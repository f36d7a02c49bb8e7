// What a Resize node says: which dimensions change, by which ratio, and where an output position lies in the input.
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

/// One dimension that `scales` or `sizes` speaks of.
struct ResizedDim {
  size_t dim = 0;       // of the input
  size_t position = 0;  // in scales and sizes; in roi the start, and `count` further on the end
  Dim in;
  std::optional<Dim> out;      // nullopt: not known before the lowering, when the output's shape is given
  bool by_size = false;        // the ratio is that of the extents themselves
  std::optional<Ratio> ratio;  // nullopt: scales or sizes depend on data
  std::optional<float> scale;  // as the model gives it
};

struct ResizeForm {
  std::string mode, coordinates, nearest;
  bool exclude_outside = false;
  bool antialias = false;  // where a dimension shrinks, the weights are stretched over as many more elements
  double cubic_a = -0.75, extrapolation = 0;
  /// "not_larger" or "not_smaller" where the sizes that one ratio of all dimensions has to keep to depend on data; else
  /// empty.
  std::string open_policy;
  std::vector<ResizedDim> dims;

  bool crops() const { return coordinates == "tf_crop_and_resize"; }
  /// With antialias, the number of elements that take part depends on data where the scale does: an extent of its own.
  bool has_open_window(const ResizedDim& d) const { return antialias && !d.ratio && !d.by_size; }
};

/// Reads the node. `y` is the output's shape, null while it is being inferred. `scales` and `sizes` are null where
/// omitted or empty; exactly one must be there. Fails, naming the node, on attributes and values that make no Resize.
ResizeForm resize_form(const Node& node, const Shape& x, const Shape* y, const Value* scales, const Value* sizes);

/// A simple fraction that rounds to the f32 `scale`: 0.6f is 3/5. What exporters round is a fraction, and with it
/// positions come out exact; the extents of results are those of the product in f32. Requires: scale in [2^-20, 2^20].
Ratio simplest_ratio(float scale);

/// Output position i lies at (slope * i + start) / divisor of the input, divisor >= 1.
struct SourceLine {
  Dim slope, start, divisor = 1;
};
/// Requires: the ratio is known, and the form does not crop.
SourceLine source_line(const ResizeForm& form, const ResizedDim& d);

/// A line of the same floors with smaller numbers, where some number divides slope and divisor.
SourceLine same_floors(const SourceLine& line);

/// Does `nearest_mode` take the same elements on the exact line as at positions that are computed in f32, as
/// onnxruntime computes them? What f32 loses decides where a position is an element, or the middle between two.
/// Requires: the ratio is known, and the form does not crop.
bool takes_exact_nearest(const ResizeForm& form, const ResizedDim& d);

/// The line whose floor is the element that `nearest_mode` takes on `line`.
SourceLine nearest_line(const ResizeForm& form, const ResizedDim& d, const SourceLine& line);

// resize_upgrade.cpp
void upgrade_resize(UpgradeContext& ctx);
void upgrade_upsample(UpgradeContext& ctx);

}  // namespace gcg
