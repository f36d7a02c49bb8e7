// Convolutions as implicit matrix products. Rows are the output channels of a group, columns the output positions of
// the whole batch, and depths the taps and input channels. If the result's channels are neighbours in memory, rows are
// the positions and columns the channels. The position operand is gathered from the input while it is copied.
#include <algorithm>
#include <array>

#include "codegen/cuda/contractions/product.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

using Spatial = PlainConvKernel::Spatial;

class ConvProduct final : public Product {
 public:
  ConvProduct(const Kernel& kernel, const PlainConvKernel& conv) : c_(conv) {
    const size_t missing = spatial_.size() - conv.spatial.size();
    for (size_t d = 0; d < spatial_.size(); ++d)
      spatial_[d] = d < missing ? Spatial{1, 1, 0, 1, 1, 1} : conv.spatial[d - missing];
    for (const Spatial& s : spatial_) {
      taps *= s.kernel;
      positions_ = positions_ * s.output;
      volume_ = volume_ * s.input;
    }
    channels_ = conv.in_channels / conv.groups;
    batch = conv.groups;
    rows = conv.out_channels / conv.groups;
    columns = conv.batch * positions_;
    depth = taps * channels_;
    if (!is_pointwise()) properties = window_text();
    if (conv.input_channels_last) properties += concat(properties.empty() ? "" : ", ", "channels last");
    const auto channel_stride =
        address_stride(kernel.operands[static_cast<size_t>(conv.result)], conv.index, conv.channel.id);
    by_position_ = channel_stride && channel_stride->is(1) && !positions_.is(1);
    const auto stored = [&](int operand) { return kernel.operands[static_cast<size_t>(operand)].dtype; };
    const DType w = stored(conv.weights), x = stored(conv.input);
    left = {true, w, widest_vector(w, {depth})};
    right = {conv.input_channels_last, x, widest_vector(x, {neighbours()})};
    left_operand = conv.weights;
    right_operand = conv.input;
    if (by_position_) {
      std::swap(rows, columns);
      std::swap(left, right);
      std::swap(left_operand, right_operand);
    }
    gathers = conv.input_channels_last;
    divides = taps > 1 && channels_ % 16 != 0;
    whole_steps = taps > 1 && channels_ % 16 == 0 ? channels_ : 0;
    epilogue = conv.epilogue;
    result = conv.result;
    index = conv.index;
    choose_vector(kernel);
    find_boxes(kernel);
  }

  std::optional<Matrix> matrix(FunctionText& f, bool of_left) const override {
    if (of_left != by_position_) return Matrix{weights_of_group(f), depth, 1};
    if (!volume_.is(1) || !is_pointwise()) return std::nullopt;
    return Matrix{concat(f.pointer(c_.input), " + batch * ", channels_), c_.in_channels, 1};
  }

  void declare_operands(FunctionText& f, const ProductTile& tile) const override {
    declare_operand(f, tile, left, true);
    declare_operand(f, tile, right, false);
  }

  std::optional<TmaView> tma_view(bool of_left) const override { return tma_views_[of_left ? 0 : 1]; }

  void declare_window(FunctionText& f) const override {
    const Spatial &rows_of = spatial_[1], &columns_of = spatial_[2];
    const std::string first = by_position_ ? "row0" : "column0", width = int_text(f, columns_of.output),
                      height = int_text(f, rows_of.output);
    f.line("const int window_column = ", first, " % ", width, " * ", columns_of.stride, " - ",
           int_text(f, columns_of.pad), ";");
    f.line("const int window_row = ", first, " / ", width, " % ", height, " * ", rows_of.stride, " - ",
           int_text(f, rows_of.pad), ";");
    f.line("const int image = ", first, " / ", width, " / ", height, ";");
  }

  void declare_batch(FunctionText&, EvaluationPoint&) const override {}
  void declare_row(FunctionText& f, EvaluationPoint& place) const override {
    declare_line(f, place, "row", by_position_);
  }
  void declare_column(FunctionText& f, EvaluationPoint& place) const override {
    declare_line(f, place, "column", !by_position_);
  }

 private:
  /// The number of elements, along a line of the position operand, that are neighbours in memory.
  Dim neighbours() const {
    if (c_.input_channels_last) return channels_;
    if (is_pointwise()) return positions_;
    return 1;
  }

  void choose_vector(const Kernel& kernel) {
    if (by_position_) {
      lane = c_.channel.id;
    } else {
      if (c_.position.size() != 1) return;
      lane = c_.position[0].id;
      // Neighbouring columns must belong to one image.
      if (!is_multiple(positions_, 4) && !c_.batch.is(1)) return;
    }
    vector = epilogue_vector(kernel, *this, columns, lane);
  }

  /// Finds the operands and results that TMA can copy as tensors.
  void find_boxes(const Kernel& kernel) {
    if (!c_.input_channels_last || left.stored != right.stored) return;
    const size_t weights = by_position_ ? 1 : 0;
    tma_views_[weights] = weights_view(left_or_right(weights == 0).stored);
    tma_views_[1 - weights] = positions_view(left_or_right(weights != 0).stored);
    if (!is_pointwise()) tap_channels = channels_;
    std::vector<Axis> positions = c_.position;
    positions.insert(positions.begin(), c_.n);
    if (batch.is(1))
      boxes = by_position_ ? find_result_boxes(kernel, *this, {{c_.channel}, positions, {}})
                           : find_result_boxes(kernel, *this, {positions, {c_.channel}, {}});
  }
  const Copy& left_or_right(bool is_left) const { return is_left ? left : right; }

  std::optional<TmaView> weights_view(DType stored) const {
    TmaView view{c_.weights, stored, 0, {}};
    view.dimensions = {{depth, 1, "0", 'd'}, {channel_count(), depth, by_position_ ? "column0" : "row0", 'r'}};
    if (!batch.is(1)) view.dimensions.push_back({batch, channel_count() * depth, "batch", 'b'});
    return as_tma_view(std::move(view));
  }

  std::optional<TmaView> positions_view(DType stored) const {
    const std::string first = by_position_ ? "row0" : "column0";
    TmaView view{c_.input, stored, 0, {}};
    if (is_pointwise()) {
      view.dimensions = {{channels_, 1, "0", 'd'}, {position_count(), c_.in_channels, first, 'r'}};
      if (!batch.is(1)) view.dimensions.push_back({batch, channels_, "batch", 'b'});
      return as_tma_view(std::move(view));
    }
    const Spatial &planes = spatial_[0], &rows_of = spatial_[1], &columns_of = spatial_[2];
    const auto window = window_of(rows_of, columns_of);
    if (!window || !batch.is(1) || !planes.input.is(1) || planes.kernel != 1) return std::nullopt;
    const Dim line = columns_of.input * c_.in_channels;
    view.dimensions = {{channels_, 1, "0", 'd'},
                       {columns_of.input, c_.in_channels, "window_column", 'b'},
                       {rows_of.input, line, "window_row", 'b'},
                       {c_.batch, line * rows_of.input, "image", 'r'}};
    view.window = window;
    return as_tma_view(std::move(view));
  }

  /// The window as a tensor map describes it. Nullopt if a tensor map cannot express it.
  std::optional<TmaView::Window> window_of(const Spatial& rows_of, const Spatial& columns_of) const {
    constexpr int64_t kMostStep = 8, kMostOffset = 255;
    TmaView::Window w{channels_, columns_of.kernel, columns_of.dilation, rows_of.dilation, {1}, {}, {}};
    for (const Spatial* s : {&columns_of, &rows_of}) {
      const auto upper = upper_corner(*s);
      if (!upper || s->stride > kMostStep || (s->kernel - 1) * s->dilation > kMostOffset) return std::nullopt;
      w.lower.push_back(static_cast<int>(-s->pad.constant()));
      w.upper.push_back(static_cast<int>(*upper));
      w.steps.push_back(static_cast<int>(s->stride));
    }
    w.steps.push_back(1);
    return w;
  }

  /// The upper corner of the window: its last position minus the last pixel. With this corner, the window has as many
  /// positions as there are outputs, for all extents.
  static std::optional<int64_t> upper_corner(const Spatial& s) {
    constexpr int64_t kLeast = -128, kMost = 127;
    if (!s.pad.is_constant() || s.pad.constant() > -kLeast) return std::nullopt;
    const auto fits = [&](int64_t upper) { return upper >= kLeast && upper <= kMost; };
    const Dim last = (s.output - 1) * s.stride - s.input - s.pad + 1;
    if (last.is_constant()) return fits(last.constant()) ? std::optional(last.constant()) : std::nullopt;
    for (int64_t upper = kMost; upper >= kLeast; --upper)
      if (floor_div(s.input + s.pad + (upper - 1), Dim(s.stride)) + 1 == s.output) return upper;
    return std::nullopt;
  }

  std::string weights_of_group(FunctionText& f) const {
    return concat(f.pointer(c_.weights), " + (long long)batch * ", (channel_count() * depth).constant());
  }
  const Dim& channel_count() const { return by_position_ ? columns : rows; }   // channels of the result, in one group
  const Dim& position_count() const { return by_position_ ? rows : columns; }  // positions over all images of the batch

  void declare_operand(FunctionText& f, const ProductTile& tile, const Copy& copy, bool is_left) const {
    const Conversion conversion = conversion_of(copy.stored, tile.arithmetic);
    const std::string type = is_left ? "Left" : "Right", name = is_left ? "left" : "right",
                      first = is_left ? "row0" : "column0";
    const std::string copied = concat(tile_type(conversion, tile, is_left ? tile.rows : tile.columns, copy.along_depth),
                                      ", ", tile.threads(), ", ", conversion.vector(copy));
    if (is_left != by_position_) {
      f.line("typedef gart_matrix<", conversion.name, ", ", copied, "> ", type, ";");
      f.line(type, " ", name, "(", weights_of_group(f), ", ", depth.constant(), ", 1, ", first, ", ",
             int_text(f, channel_count()), ", ", int_text(f, depth), ");");
      return;
    }
    f.line("typedef gart_window<", list([](const Spatial& s) { return concat(s.kernel); }), ", ",
           list([](const Spatial& s) { return concat(s.stride); }), ", ",
           list([](const Spatial& s) { return concat(s.dilation); }), ", ", channels_, "> Window;");
    f.line("typedef ", c_.input_channels_last ? "gart_channels_last_patches<" : "gart_patches<", conversion.name,
           ", Window, ", copied, ", ", is_inside() ? "true" : "false", ", ", c_.in_channels, "> ", type, ";");
    const std::string group = f.dim(c_.input_channels_last ? Dim(channels_) : volume_ * channels_).text;
    f.line(type, " ", name, "(", f.pointer(c_.input), " + (long long)batch * ", group, ", {",
           list([&](const Spatial& s) { return int_text(f, s.input); }), "}, {",
           list([&](const Spatial& s) { return int_text(f, s.output); }), "}, {",
           list([&](const Spatial& s) { return int_text(f, s.pad); }), "}, ", first, ", ",
           int_text(f, position_count()), ");");
  }

  /// Declares the axes that `line` numbers: the result's positions, or channels.
  void declare_line(FunctionText& f, EvaluationPoint& place, const std::string& line, bool is_position) const {
    if (!is_position)
      return declare_axis(f, place, c_.channel, concat("batch * ", int_text(f, channel_count()), " + ", line));
    std::string position = line;
    if (!c_.batch.is(1)) {
      const std::string count = int_text(f, positions_);
      declare_axis(f, place, c_.n, concat(line, " / ", count));
      f.line("const int position = ", line, " % ", count, ";");
      position = "position";
    }
    const std::vector<std::string> at = f.coordinates(c_.position, {position, false});
    for (size_t d = 0; d < at.size(); ++d) place.axes[c_.position[d].id] = at[d];
  }

  template <class Text>
  std::string list(const Text& text) const {
    std::string all;
    for (const Spatial& s : spatial_) all += concat(all.empty() ? "" : ", ", text(s));
    return all;
  }

  /// True if output positions equal input positions.
  bool is_pointwise() const {
    for (const Spatial& s : spatial_)
      if (s.kernel != 1 || s.stride != 1 || !s.pad.is(0) || !(s.input == s.output)) return false;
    return true;
  }

  std::string window_text() const {
    const auto joined = [&](int64_t Spatial::* part) {
      std::string text;
      for (const Spatial& s : c_.spatial) text = concat(text, text.empty() ? "" : "x", s.*part);
      return text;
    };
    return concat("window ", joined(&Spatial::kernel), ", strides ", joined(&Spatial::stride), ", dilations ",
                  joined(&Spatial::dilation), is_inside() ? "" : ", padded");
  }

  /// True if no tap is ever outside the input.
  bool is_inside() const {
    if (is_pointwise()) return true;
    return std::all_of(spatial_.begin(), spatial_.end(), [](const Spatial& s) {
      const auto after = (s.input - (s.output - 1) * s.stride - (s.kernel - 1) * s.dilation).lower_bound();
      return s.pad.is(0) && after && *after >= 1;
    });
  }

  const PlainConvKernel& c_;
  std::array<Spatial, 3> spatial_;
  Dim positions_ = 1, volume_ = 1;  // positions of one channel in the output, and in the input
  int64_t channels_ = 0;            // of one group
  bool by_position_ = false;        // rows are positions
  std::array<std::optional<TmaView>, 2> tma_views_;
};

}  // namespace

std::unique_ptr<Product> conv_product(const Kernel& kernel) {
  return std::make_unique<ConvProduct>(kernel, std::get<PlainConvKernel>(kernel.body));
}

KernelText emit_plain_conv(const Kernel& kernel, const Target& target) {
  return emit_product(kernel, target, *conv_product(kernel), "conv");
}

}  // namespace gcg::cuda
