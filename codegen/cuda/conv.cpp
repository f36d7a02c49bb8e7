// Convolutions as implicit matrix products: a row per output channel of a group, a column per output position of the whole
// batch, a depth per tap and input channel. The right operand is gathered from the input as it is copied.
#include <algorithm>
#include <array>

#include "codegen/cuda/product.h"
#include "codegen/cuda/vector_access.h"
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
    int64_t taps = 1;
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
    if (!is_pointwise()) form = window_text();
    left_operand = conv.weights;
    right_operand = conv.input;
    const DType w = kernel.operands[static_cast<size_t>(conv.weights)].dtype, x = kernel.operands[static_cast<size_t>(conv.input)].dtype;
    left = {true, w, widest_vector(w, {depth})};
    right = {false, x, is_pointwise() ? widest_vector(x, {positions_}) : 1};
    divides = taps > 1 && channels_ % 16 != 0;
    whole_steps = taps > 1 && channels_ % 16 == 0 ? channels_ : 0;
    epilogue = conv.epilogue;
    result = conv.result;
    index = conv.index;
    if (conv.position.size() == 1) {
      lane = conv.position[0].id;
      // Neighbouring columns are of one image.
      if (is_multiple(positions_, 4) || conv.batch.is(1)) vector = epilogue_vector(kernel, *this, columns, lane);
    }
  }

  std::optional<Matrix> matrix(FunctionText& f, bool of_left) const override {
    if (of_left) return Matrix{concat(f.pointer(c_.weights), " + (long long)batch * ", (rows * depth).constant()), depth, 1};
    if (!volume_.is(1) || !is_pointwise()) return std::nullopt;
    return Matrix{concat(f.pointer(c_.input), " + batch * ", channels_), c_.in_channels, 1};
  }

  void declare_operands(FunctionText& f, const ProductTile& tile) const override {
    const int threads = tile.threads();
    const Conversion of_left = conversion_of(left.stored, tile.arithmetic), of_right = conversion_of(right.stored, tile.arithmetic);
    f.line("typedef gart_matrix<", of_left.name, ", ", tile_type(of_left, tile, tile.rows, true), ", ", threads,
           ", ", of_left.vector(left), "> Left;");
    f.line("Left left(", f.pointer(c_.weights), " + (long long)batch * ", (rows * depth).constant(), ", ",
           depth.constant(), ", 1, row0, ", int_text(f, rows), ", ", int_text(f, depth), ");");
    f.line("typedef gart_window<", list([](const Spatial& s) { return concat(s.kernel); }), ", ",
           list([](const Spatial& s) { return concat(s.stride); }), ", ",
           list([](const Spatial& s) { return concat(s.dilation); }), ", ", channels_, "> Window;");
    f.line("typedef gart_patches<", of_right.name, ", Window, ", tile_type(of_right, tile, tile.columns, false),
           ", ", threads, ", ", of_right.vector(right), ", ", is_inside() ? "true" : "false", "> Right;");
    f.line("Right right(", f.pointer(c_.input), " + (long long)batch * ", f.dim(volume_ * channels_).text, ", {",
           list([&](const Spatial& s) { return int_text(f, s.input); }), "}, {",
           list([&](const Spatial& s) { return int_text(f, s.output); }), "}, {",
           list([&](const Spatial& s) { return int_text(f, s.pad); }), "}, ", f.dim(volume_ * c_.in_channels).text,
           ", column0, ", int_text(f, columns), ");");
  }

  void declare_batch(FunctionText&, Place&) const override {}
  void declare_row(FunctionText& f, Place& place) const override {
    declare_axis(f, place, c_.channel, concat("batch * ", int_text(f, rows), " + row"));
  }

  void declare_column(FunctionText& f, Place& place) const override {
    std::string position = "column";
    if (!c_.batch.is(1)) {
      const std::string count = int_text(f, positions_);
      declare_axis(f, place, c_.n, concat("column / ", count));
      f.line("const int position = column % ", count, ";");
      position = "position";
    }
    const std::vector<std::string> at = f.coordinates(c_.position, {position, false});
    for (size_t d = 0; d < at.size(); ++d) place.axes[c_.position[d].id] = at[d];
  }

 private:
  template <class Text>
  std::string list(const Text& text) const {
    std::string all;
    for (const Spatial& s : spatial_) all += concat(all.empty() ? "" : ", ", text(s));
    return all;
  }

  /// Output positions are input positions.
  bool is_pointwise() const {
    for (const Spatial& s : spatial_)
      if (s.kernel != 1 || s.stride != 1 || !s.pad.is(0) || !(s.input == s.output)) return false;
    return true;
  }

  std::string window_text() const {
    const auto joined = [&](int64_t Spatial::*part) {
      std::string text;
      for (const Spatial& s : c_.spatial) text = concat(text, text.empty() ? "" : "x", s.*part);
      return text;
    };
    return concat("window ", joined(&Spatial::kernel), ", strides ", joined(&Spatial::stride), ", dilations ",
                  joined(&Spatial::dilation), is_inside() ? "" : ", padded");
  }

  /// No tap is ever outside of the input.
  bool is_inside() const {
    if (is_pointwise()) return true;
    return std::all_of(spatial_.begin(), spatial_.end(), [](const Spatial& s) {
      const auto behind = (s.input - (s.output - 1) * s.stride - (s.kernel - 1) * s.dilation).lower_bound();
      return s.pad.is(0) && behind && *behind >= 1;
    });
  }

  const PlainConvKernel& c_;
  std::array<Spatial, 3> spatial_;
  Dim positions_ = 1, volume_ = 1;  // of one channel: of the output, of the input
  int64_t channels_ = 0;            // of one group
};

}  // namespace

std::unique_ptr<Product> conv_product(const Kernel& kernel) {
  return std::make_unique<ConvProduct>(kernel, std::get<PlainConvKernel>(kernel.body));
}

KernelText emit_plain_conv(const Kernel& kernel, const Target& target) {
  return emit_product(kernel, target, *conv_product(kernel), "conv");
}

}  // namespace gcg::cuda
