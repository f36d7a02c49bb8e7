// A product's operands as tiles that the tensor memory accelerator (TMA) of sm_90a copies.
#include <algorithm>

#include "codegen/cuda/contractions/product.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"

namespace gcg::cuda {
namespace {

constexpr size_t kMostDimensions = 5;

/// True if `a` is a multiple of `b` for every value of the symbols. cuTensorMapEncodeTiled documents that each stride
/// must be a multiple of the stride before, though drivers were seen to accept others.
bool divides(const Dim& b, const Dim& a) { return b.is_constant() ? is_multiple(a, b.constant()) : mod(a, b).is(0); }

int dimension_of(const Product::TmaView& view, char kind) {
  const auto& all = view.dimensions;
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& d) { return d.kind == kind; });
  return static_cast<int>(at - all.begin());
}

/// A map of the view whose box has one line.
TensorMap map_of(const Product::TmaView& view) {
  TensorMap map{view.operand, view.stored, view.offset, {}, {}, std::vector<int>(view.dimensions.size(), 1)};
  map.box[0] = box_depths(view.stored);
  for (size_t d = 0; d < view.dimensions.size(); ++d) {
    map.extents.push_back(view.dimensions[d].extent);
    if (d > 0) map.strides.push_back(view.dimensions[d].stride);
  }
  return map;
}

/// `lines`: rows of the left operand's tile, or columns of the right one's. `depths`: the depth coordinates of steps.
void declare_type(FunctionText& f, const Product::TmaView& view, int lines, const std::string& depths,
                  const char* type) {
  const bool along_depth = view.dimensions[0].kind == 'd';
  const std::string tile = view.stored == DType::f32
                               ? concat("gart_f32_tile<", lines, ">")
                               : concat("gart_swizzled_tile<", lines, ", ", along_depth ? "true" : "false", ">");
  if (view.window) {
    const auto& w = *view.window;
    return f.line("typedef gart_window_tiles<", tile, ", ", w.channels, ", ", w.kernel_columns, ", ", w.column_dilation,
                  ", ", w.row_dilation, "> ", type, ";");
  }
  f.line("typedef gart_box_tiles<", tile, ", ", depths, ", ", view.dimensions.size(), ", ", dimension_of(view, 'r'),
         ", ", dimension_of(view, 'd'), "> ", type, ";");
}

/// The map for boxes of `lines` lines.
std::string operand_map(FunctionText& f, const Product::TmaView& view, int lines) {
  const bool along_depth = view.dimensions[0].kind == 'd';
  TensorMap map = map_of(view);
  if (view.window) {
    map.kind = TensorMap::Kind::im2col;
    map.steps = view.window->steps;
    map.lower = view.window->lower;
    map.upper = view.window->upper;
    map.pixels = lines;
    return f.map(std::move(map));
  }
  map.box[static_cast<size_t>(dimension_of(view, along_depth ? 'r' : 'd'))] =
      along_depth ? lines : box_depths(view.stored);
  return f.map(std::move(map));
}

}  // namespace

std::optional<Product::TmaView> as_tma_view(Product::TmaView view) {
  auto& all = view.dimensions;
  const auto first =
      std::find_if(all.begin(), all.end(), [](const auto& d) { return d.kind != 'b' && d.stride.is(1); });
  if (first == all.end() || all.size() > kMostDimensions) return std::nullopt;
  std::rotate(all.begin(), first, first + 1);
  std::stable_sort(all.begin() + 1, all.end(),
                   [](const auto& a, const auto& b) { return typical(a.stride) < typical(b.stride); });
  const auto elements = static_cast<int64_t>(16 / size_of(view.stored));
  if (!is_multiple(view.offset, elements)) return std::nullopt;
  for (size_t d = 1; d < all.size(); ++d) {
    const Dim& stride = all[d].stride;
    if (!is_multiple(stride, elements) || stride.is(0) || stride.lower_bound().value_or(-1) < 0) return std::nullopt;
    if (d > 1 && !divides(all[d - 1].stride, all[d].stride)) return std::nullopt;
  }
  return view;
}

SharedRegisters shared_registers(const ProductTile& tile) {
  if (tile.arithmetic == Arithmetic::tf32x3) return {24, 216, 128, 56};
  switch (tile.warp_rows / 4) {
    case 1:
      return {40, 232, 232};
    case 2:
      return {40, 232, 168};
    default:
      return {32, 160, 128};
  }
}

std::string places(const Product::TmaView& view) {
  std::string all;
  for (const auto& d : view.dimensions) all += concat(all.empty() ? "" : ", ", d.at);
  return concat("{", all, "}");
}

std::string result_map(FunctionText& f, const Product::TmaView& view) {
  TensorMap map = map_of(view);
  constexpr int kWarpgroupRows = 64;
  map.box[static_cast<size_t>(dimension_of(view, 'r'))] = kWarpgroupRows;
  return f.map(std::move(map));
}

TiledOperands::TiledOperands(FunctionText& f, const Product& product, const ProductTile& tile)
    : product_(product), left_(*product.tma_view(true)), right_(*product.tma_view(false)) {
  const bool cuts_taps = product.tap_channels % tile.depth != 0;
  const std::string depths = cuts_taps
                                 ? concat("gart_tap_depths<", product.tap_channels, ", ", box_depths(left_.stored), ">")
                             : left_.stored == DType::f32 ? "gart_f32_depths"
                                                          : "gart_plain_depths";
  declare_type(f, left_, tile.rows, depths, "Left");
  declare_type(f, right_, tile.columns, depths, "Right");
  left_map_ = operand_map(f, left_, tile.rows);
  right_map_ = operand_map(f, right_, tile.columns);
}

void TiledOperands::declare(FunctionText& f) const {
  const auto object = [&](const Product::TmaView& view, const std::string& map, const char* type, const char* name) {
    std::string at = places(view);
    if (view.window) at = at.substr(at.find(", ") + 2, at.size() - at.find(", ") - 3);  // not the channel's
    f.line("const ", type, " ", name, " = {&", map, ", ", at, "};");
  };
  if (left_.window || right_.window) product_.declare_window(f);
  object(left_, left_map_, "Left", "left");
  object(right_, right_map_, "Right", "right");
}

}  // namespace gcg::cuda
