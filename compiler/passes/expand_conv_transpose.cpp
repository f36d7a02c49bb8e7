#include "compiler/passes/expand_conv_transpose.h"

#include <algorithm>
#include <limits>

#include "compiler/ops/conv_transpose.h"
#include "compiler/ops/interleave.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMostPhases = 16;
/// With at most this many outputs and at least this many inputs, the result is computed as sums of products of single
/// taps.
constexpr int64_t kFewOutputs = 4, kManyInputs = 16;
constexpr int64_t kMostOverlaps = 64;  // the most patches that may add to one output

/// One sub-pixel phase along one dimension. Its taps are first, first + step, ... of the transposed kernel; in reverse
/// order they are the taps of an ordinary convolution.
struct PhaseAxis {
  int64_t first = 0, step = 1, count = 0;
  int64_t dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;  // if negative, this number of inputs is not used
  Dim output;
};

std::optional<PhaseAxis> phase_axis(const TransposedWindow& s, int64_t phase) {
  PhaseAxis axis;
  axis.output = ceil_div(s.output - phase, s.stride);
  const int64_t start = phase + s.pad_begin.constant();
  for (int64_t k = 0; k < s.kernel.constant(); ++k) {
    if ((start - k * s.dilation) % s.stride != 0) continue;
    if (axis.count == 0) axis.first = k;
    if (axis.count == 1) axis.step = k - axis.first;
    ++axis.count;
  }
  axis.dilation = axis.step * s.dilation / s.stride;
  if (axis.count < 2) axis.dilation = 1;
  // Output i of the phase first reads input i + distance.
  const int64_t distance = (start - axis.first * s.dilation) / s.stride;
  const Dim end = axis.output + distance - s.input;
  if (!end.is_constant()) return {};
  axis.pad_begin = (axis.count - 1) * axis.dilation - distance;
  axis.pad_end = end.constant();
  return axis;
}

class Expansion {
 public:
  Expansion(Rewriter& r, NodeId id)
      : r_(r),
        name_(r.graph.node(id).name),
        inputs_(r.graph.node(id).inputs),
        x_(inputs_[0]),
        w_(inputs_[1]),
        windows_(transposed_windows(r.graph.node(id), r.shape(x_), r.shape(w_))),
        group_(r.graph.node(id).int_attribute("group", 1)) {
    for (size_t d = 0; d < windows_.size(); ++d) {
      weave_.axes.push_back(d + 2);
      weave_.steps.push_back(windows_[d].stride);
    }
  }

  /// True if the output patches of different input elements do not overlap.
  bool makes_patches() const {
    return group_ == 1 && std::all_of(windows_.begin(), windows_.end(), [](const TransposedWindow& s) {
             return s.kernel.is(s.stride) && s.dilation == 1 && s.pad_begin.is(0) &&
                    s.output == s.input * Dim(s.stride);
           });
  }

  /// Makes one product and moves its results to their places.
  ValueId patches() {
    const int64_t outputs = r_.shape(w_)[1].constant();
    const auto rank = static_cast<int64_t>(windows_.size());
    Ints apart = {outputs}, perm = {0, 1}, strides;
    for (int64_t d = 0; d < rank; ++d) {
      strides.push_back(windows_[static_cast<size_t>(d)].stride);
      perm.insert(perm.end(), {2 + rank + d, 2 + d});
    }
    apart.insert(apart.end(), strides.begin(), strides.end());
    const ValueId taps = r_.add(op_Reshape, name_, {products_of_taps(), extents_of_x(apart, {})});
    const ValueId placed = r_.add(op_Transpose, name_, {taps}, {{"perm", perm}});
    const ValueId y = r_.add(op_Reshape, name_, {placed, extents_of_x({outputs}, strides)});
    return has_bias() ? r_.add(op_Add, name_, {y, bias_over(windows_.size())}) : y;
  }

  /// Makes one product, whose results are patches of whole blocks of `stride` outputs, and adds the patches where they
  /// overlap. Nullopt if too many overlap, or the result's extents do not follow those of the input.
  std::optional<ValueId> overlapping_patches() {
    std::vector<Overlap> overlaps;
    int64_t met = 1;
    for (const TransposedWindow& s : windows_) {
      if (s.dilation != 1 || group_ != 1) return {};
      const int64_t blocks = (s.kernel.constant() + s.stride - 1) / s.stride;
      const Dim excess = (s.input + (blocks - 1)) * s.stride - s.pad_begin - s.output;
      if (!excess.is_constant()) return {};
      overlaps.push_back({blocks, excess.constant()});
      met *= blocks;
      if (met > kMostOverlaps) return {};
    }
    const ValueId sum = sum_of_patches(overlaps, patches_of_blocks(overlaps), met);
    const ValueId y = cut(overlaps, in_place(overlaps, sum));
    return has_bias() ? r_.add(op_Add, name_, {y, bias_over(windows_.size())}) : y;
  }

  /// The result, if every phase is known.
  std::optional<ValueId> run() {
    std::vector<std::vector<PhaseAxis>> phases;
    for (int64_t p = 0; p < weave_.phases(); ++p) {
      const Ints offsets = weave_.offsets(p);
      phases.emplace_back();
      for (size_t d = 0; d < windows_.size(); ++d) {
        const auto axis = phase_axis(windows_[d], offsets[d]);
        if (!axis) return {};
        phases.back().push_back(*axis);
      }
    }
    std::vector<ValueId> parts;
    if (has_few_outputs()) {
      const ValueId taps = products_of_taps();
      for (size_t p = 0; p < phases.size(); ++p)
        parts.push_back(sum_of_taps(phases[p], weave_.offsets(static_cast<int64_t>(p)), taps));
    } else {
      const ValueId weights = ordinary_weights();
      for (const auto& axes : phases) parts.push_back(part(axes, weights));
    }
    if (parts.size() == 1) return parts[0];
    Ints axes(weave_.axes.begin(), weave_.axes.end());
    return r_.add(op_gart_Interleave, name_, parts, {{"axes", axes}, {"steps", weave_.steps}});
  }

 private:
  /// Patches along a dimension.
  struct Overlap {
    int64_t blocks;  // blocks of `stride` outputs per patch; as many patches add to one output
    int64_t excess;  // outputs to cut at the end; if negative, this many outputs are missing and zero
  };

  /// [N, spatial..., CO, blocks, stride, ...] with the weights padded to whole blocks.
  ValueId patches_of_blocks(const std::vector<Overlap>& overlaps) {
    const Shape& w = r_.shape(w_);
    const int64_t outputs = w[1].constant();
    Ints pads(2 * w.size(), 0), tail = {outputs};
    int64_t columns = outputs;
    for (size_t d = 0; d < overlaps.size(); ++d) {
      const int64_t stride = windows_[d].stride, padded_taps = overlaps[d].blocks * stride;
      pads[w.size() + d + 2] = padded_taps - w[d + 2].constant();
      tail.insert(tail.end(), {overlaps[d].blocks, stride});
      columns *= padded_taps;
    }
    const ValueId padded = r_.add(op_Pad, name_, {w_, ints(pads)});
    const ValueId weights = r_.add(op_Reshape, name_, {padded, ints({w[0].constant(), columns})});
    const ValueId pixels = r_.add(op_Reshape, name_, {x_, ints({0, w[0].constant(), -1})});
    const ValueId rows = r_.add(op_Transpose, name_, {pixels}, {{"perm", Ints{0, 2, 1}}});
    const ValueId extents =
        r_.add(op_Concat, name_, {batch_of_x(), spatial_of_x(), ints(tail)}, {{"axis", int64_t{0}}});
    return r_.add(op_Reshape, name_, {r_.add(op_MatMul, name_, {rows, weights}), extents});
  }

  /// [N, blocks of outputs..., CO, stride...]
  ValueId sum_of_patches(const std::vector<Overlap>& overlaps, ValueId patches, int64_t met) {
    const size_t dims = overlaps.size();
    ValueId sum;
    for (int64_t m = 0; m < met; ++m) {
      int64_t remaining = m;
      Ints begin(2 * dims + 2, 0), end = begin;
      ValueId one = patches;
      for (size_t d = dims; d-- > 0; remaining /= overlaps[d].blocks) {
        const int64_t block = remaining % overlaps[d].blocks;
        one = r_.add(op_Gather, name_, {one, r_.add_constant(name_ + ".block", Tensor::scalar_i64(block))},
                     {{"axis", static_cast<int64_t>(dims + 2 + 2 * d)}});
        begin[1 + d] = block;
        end[1 + d] = overlaps[d].blocks - 1 - block;
      }
      begin.insert(begin.end(), end.begin(), end.end());
      const ValueId shifted = r_.add(op_Pad, name_, {one, ints(begin)});
      sum = sum.valid() ? r_.add(op_Add, name_, {sum, shifted}) : shifted;
    }
    return sum;
  }

  /// [N, CO, outputs...]
  ValueId in_place(const std::vector<Overlap>& overlaps, ValueId sum) {
    const auto dims = static_cast<int64_t>(overlaps.size());
    Ints perm = {0, dims + 1}, further, strides;
    for (int64_t d = 0; d < dims; ++d) {
      perm.insert(perm.end(), {1 + d, dims + 2 + d});
      further.push_back(overlaps[static_cast<size_t>(d)].blocks - 1);
      strides.push_back(windows_[static_cast<size_t>(d)].stride);
    }
    const ValueId blocks = r_.add(op_Add, name_, {spatial_of_x(), ints(further)});
    const ValueId outputs = r_.add(op_Mul, name_, {blocks, ints(strides)});
    const ValueId extents =
        r_.add(op_Concat, name_, {batch_of_x(), ints({r_.shape(w_)[1].constant()}), outputs}, {{"axis", int64_t{0}}});
    return r_.add(op_Reshape, name_, {r_.add(op_Transpose, name_, {sum}, {{"perm", perm}}), extents});
  }

  /// Removes the outputs before and after those of the result.
  ValueId cut(const std::vector<Overlap>& overlaps, ValueId y) {
    Ints pads(2, 0), after(2, 0);
    for (size_t d = 0; d < overlaps.size(); ++d) {
      pads.push_back(-windows_[d].pad_begin.constant());
      after.push_back(-overlaps[d].excess);
    }
    pads.insert(pads.end(), after.begin(), after.end());
    return r_.add(op_Pad, name_, {y, ints(pads)});
  }

  bool has_bias() const { return inputs_.size() > 2 && inputs_[2].valid(); }

  ValueId batch_of_x() { return r_.add(op_Shape, name_, {x_}, {{"start", int64_t{0}}, {"end", int64_t{1}}}); }
  ValueId spatial_of_x() { return r_.add(op_Shape, name_, {x_}, {{"start", int64_t{2}}}); }

  /// [N, middle..., spatial extents...]; the spatial extents are multiplied by `factors` if there are any.
  ValueId extents_of_x(const Ints& middle, const Ints& factors) {
    ValueId spatial = spatial_of_x();
    if (!factors.empty()) spatial = r_.add(op_Mul, name_, {spatial, ints(factors)});
    return r_.add(op_Concat, name_, {batch_of_x(), ints(middle), spatial}, {{"axis", int64_t{0}}});
  }

  ValueId ints(const Ints& values) { return r_.add_constant(name_ + ".ints", Tensor::vector_i64(values)); }

  /// x[..., from:to:step, ...] along one axis.
  ValueId slice(ValueId x, size_t axis, int64_t from, int64_t to, int64_t step) {
    return r_.add(op_Slice, name_, {x, ints({from}), ints({to}), ints({static_cast<int64_t>(axis)}), ints({step})});
  }

  /// w[CI, CO/group, kernel...] transposed to [CO, CI/group, kernel...].
  ValueId ordinary_weights() {
    const Ints shape = to_extents(r_.shape(w_));
    Ints grouped = {group_, shape[0] / group_, shape[1]}, perm = {0, 2, 1},
         joined_shape = {shape[1] * group_, shape[0] / group_};
    for (size_t d = 2; d < shape.size(); ++d) {
      grouped.push_back(shape[d]);
      perm.push_back(static_cast<int64_t>(d) + 1);
      joined_shape.push_back(shape[d]);
    }
    const ValueId apart = r_.add(op_Reshape, name_, {w_, ints(grouped)});
    return r_.add(op_Reshape, name_, {r_.add(op_Transpose, name_, {apart}, {{"perm", perm}}), ints(joined_shape)});
  }

  ValueId part(const std::vector<PhaseAxis>& axes, ValueId weights) {
    if (std::any_of(axes.begin(), axes.end(), [](const PhaseAxis& a) { return a.count == 0; })) return bias_alone(axes);
    ValueId x = x_;
    constexpr int64_t past_end = std::numeric_limits<int64_t>::max(),
                      before_begin = std::numeric_limits<int64_t>::min() + 1;
    Ints begin, end, dilations;
    for (size_t d = 0; d < axes.size(); ++d) {
      const PhaseAxis& a = axes[d];
      const int64_t last = a.first + (a.count - 1) * a.step, before = a.first - a.step;
      weights = slice(weights, d + 2, last, before < 0 ? before_begin : before, -a.step);
      if (a.pad_begin < 0) x = slice(x, d + 2, -a.pad_begin, past_end, 1);
      if (a.pad_end < 0) x = slice(x, d + 2, 0, a.pad_end, 1);
      begin.push_back(std::max<int64_t>(a.pad_begin, 0));
      end.push_back(std::max<int64_t>(a.pad_end, 0));
      dilations.push_back(a.dilation);
    }
    begin.insert(begin.end(), end.begin(), end.end());
    std::vector<ValueId> inputs = {x, weights};
    if (inputs_.size() > 2) inputs.push_back(inputs_[2]);
    return r_.add(op_Conv, name_, inputs, {{"group", group_}, {"pads", begin}, {"dilations", dilations}});
  }

  /// True if there are few outputs. Convolutions would compute a whole block of channels for them.
  bool has_few_outputs() const {
    return group_ == 1 && r_.shape(w_)[1].constant() <= kFewOutputs && r_.shape(w_)[0].constant() >= kManyInputs;
  }

  /// The contribution of each kernel tap for each input element, [N, CO, taps, spatial...], as one product.
  ValueId products_of_taps() {
    const Ints w = to_extents(r_.shape(w_));
    int64_t taps = 1;
    for (size_t d = 2; d < w.size(); ++d) taps *= w[d];
    const ValueId rows = r_.add(op_Transpose, name_, {r_.add(op_Reshape, name_, {w_, ints({w[0], w[1] * taps})})},
                                {{"perm", Ints{1, 0}}});
    const ValueId pixels = r_.add(op_Reshape, name_, {x_, ints({0, w[0], -1})});
    const ValueId products = r_.add(op_MatMul, name_, {rows, pixels});
    return r_.add(op_Reshape, name_, {products, extents_of_x({w[1], taps}, {})});
  }

  /// Output i of a phase: the sum over its taps of the tap's product with the input element `distance` from i, if there
  /// is such an element.
  ValueId sum_of_taps(const std::vector<PhaseAxis>& axes, const Ints& offsets, ValueId products) {
    if (std::any_of(axes.begin(), axes.end(), [](const PhaseAxis& a) { return a.count == 0; })) return bias_alone(axes);
    int64_t met = 1;
    for (const PhaseAxis& a : axes) met *= a.count;
    ValueId sum;
    for (int64_t t = 0; t < met; ++t) {
      int64_t tap = 0, remaining = t;
      Ints begin = {0, 0}, end = {0, 0};
      for (size_t d = 0; d < axes.size(); ++d) {
        const TransposedWindow& s = windows_[d];
        const int64_t k = axes[d].first + remaining % axes[d].count * axes[d].step;
        remaining /= axes[d].count;
        tap = tap * s.kernel.constant() + k;
        const int64_t distance = (offsets[d] + s.pad_begin.constant() - k * s.dilation) / s.stride;
        begin.push_back(-distance);
        end.push_back((axes[d].output + distance - s.input).constant());
      }
      begin.insert(begin.end(), end.begin(), end.end());
      const ValueId one = r_.add(op_Gather, name_, {products, r_.add_constant(name_ + ".tap", Tensor::scalar_i64(tap))},
                                 {{"axis", int64_t{2}}});
      const ValueId shifted = r_.add(op_Pad, name_, {one, ints(begin)});
      sum = sum.valid() ? r_.add(op_Add, name_, {sum, shifted}) : shifted;
    }
    return has_bias() ? r_.add(op_Add, name_, {sum, bias_over(axes.size())}) : sum;
  }

  /// The bias, shaped to broadcast against [N, CO, spatial...].
  ValueId bias_over(size_t dimensions) {
    Ints channels(dimensions + 1, 1);
    channels[0] = r_.shape(w_)[1].constant() * group_;
    return r_.add(op_Reshape, name_, {inputs_[2], ints(channels)});
  }

  /// The result for a phase that no kernel tap contributes to: the bias alone.
  ValueId bias_alone(const std::vector<PhaseAxis>& axes) {
    const int64_t outputs = r_.shape(w_)[1].constant() * group_;
    std::vector<ValueId> extents = {batch_of_x(), ints({outputs})};
    for (size_t d = 0; d < axes.size(); ++d) {
      const auto axis = static_cast<int64_t>(d) + 2;
      const ValueId input = r_.add(op_Shape, name_, {x_}, {{"start", axis}, {"end", axis + 1}});
      extents.push_back(r_.add(op_Add, name_, {input, ints({(axes[d].output - windows_[d].input).constant()})}));
    }
    ValueId bias;
    if (has_bias()) {
      bias = bias_over(axes.size());
    } else {
      bias = r_.add_constant(name_ + ".zero", Tensor(r_.value(x_).dtype, {}));
    }
    return r_.add(op_Expand, name_, {bias, r_.add(op_Concat, name_, extents, {{"axis", int64_t{0}}})});
  }

  Rewriter& r_;
  const std::string name_;
  const std::vector<ValueId> inputs_;
  const ValueId x_, w_;
  const std::vector<TransposedWindow> windows_;
  const int64_t group_;
  Interleaving weave_;
};

bool expand(Rewriter& r, NodeId id) {
  const Node& n = r.graph.node(id);
  if (n.op != &op_ConvTranspose || !r.has_shape(n.inputs[0]) || !r.has_shape(n.inputs[1])) return false;
  if (!is_static(r.shape(n.inputs[1])) || !is_float(r.value(n.outputs[0]).dtype)) return false;
  Expansion expansion(r, id);
  int64_t phases = 1;
  bool known = true;
  for (const TransposedWindow& s : transposed_windows(n, r.shape(n.inputs[0]), r.shape(n.inputs[1]))) {
    phases *= s.stride;
    const bool covers = s.output.is_constant() ? s.output.constant() >= s.stride : true;
    known &= s.pad_begin.is_constant() && covers;
  }
  if (!known) return false;
  const auto result = phases <= kMostPhases       ? expansion.run()
                      : expansion.makes_patches() ? expansion.patches()
                                                  : expansion.overlapping_patches();
  return result && r.replace(r.graph.node(id).outputs[0], *result);
}

}  // namespace

bool expand_conv_transpose(Graph& graph) {
  return edit_all(graph, [](Rewriter& r) {
    bool changed = false;
    for (NodeId id : r.graph.order()) {
      if (r.graph.node(id).erased || !expand(r, id)) continue;
      r.erase_if_dead(id);
      changed = true;
    }
    return changed;
  });
}

}  // namespace gcg
