// Operands of a product as tiles that the tensor memory accelerator (TMA) of sm_90a copies.
#include <algorithm>

#include "codegen/cuda/contractions/product.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"

namespace gcg::cuda {
namespace {

constexpr size_t kMostDimensions = 5;
constexpr int kLineBytes = 128;  // of a tile, which the map swizzles

/// Is `a` a multiple of `b` for every value of the symbols? cuTensorMapEncodeTiled documents that each stride must be
/// one of the stride before, though drivers were seen to take others.
bool divides(const Dim& b, const Dim& a) { return b.is_constant() ? is_multiple(a, b.constant()) : mod(a, b).is(0); }

int dimension_of(const Product::TmaView& view, char kind) {
  const auto& all = view.dimensions;
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& d) { return d.kind == kind; });
  return static_cast<int>(at - all.begin());
}

/// Registers of a multiplying thread of the feeding warpgroup, and of each of the others, of those of a
/// multiprocessor.
struct Registers {
  int few = 0, many = 0;
};
Registers registers_of(const ProductTile& tile) {
  if (tile.producers < 128) return {};  // a warp cannot give any away
  constexpr int kAll = kProcessorRegisters / 128, kFew = 40;
  const int groups = tile.warp_rows / 4, at_entry = kAll / tile.blocks / (groups + 1) / 8 * 8;
  return {kFew, std::min(240, (at_entry * (groups + 1) - kFew) / groups / 8 * 8)};
}

/// `lines`: rows of the left operand's tile, columns of the right one's.
void declare(FunctionText& f, Product::TmaView view, int lines, const char* type, const char* name) {
  const int line = kLineBytes / static_cast<int>(size_of(view.stored));
  const bool along_depth = view.dimensions[0].kind == 'd';
  const int row = dimension_of(view, 'r'), depth = dimension_of(view, 'd');
  TensorMap map{view.operand, view.stored, view.offset, {}, {}, std::vector<int>(view.dimensions.size(), 1)};
  map.box[0] = line;
  map.box[static_cast<size_t>(along_depth ? row : depth)] = along_depth ? lines : line;
  std::string at;
  for (size_t d = 0; d < view.dimensions.size(); ++d) {
    map.extents.push_back(view.dimensions[d].extent);
    if (d > 0) map.strides.push_back(view.dimensions[d].stride);
    at += concat(d == 0 ? "" : ", ", view.dimensions[d].at);
  }
  f.line("typedef gart_tma_tiles<gart_swizzled_tile<", lines, ", ", along_depth ? "true" : "false", ">, ",
         view.dimensions.size(), ", ", row, ", ", depth, "> ", type, ";");
  f.line("const ", type, " ", name, " = {&", f.map(std::move(map)), ", {", at, "}};");
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

int registers_at_entry(const ProductTile& tile) {
  const Registers registers = registers_of(tile);
  const int groups = tile.warp_rows / 4;
  if (registers.many == 0) return 0;
  return (registers.few + groups * registers.many + groups) / (groups + 1);
}

void declare_ring(FunctionText& f, const Product& product, const ProductTile& tile) {
  declare(f, *product.tma_view(true), tile.rows, "Left", "left");
  declare(f, *product.tma_view(false), tile.columns, "Right", "right");
  const Registers registers = registers_of(tile);
  f.line("typedef gart_tma_ring<Left, Right, ", tile.stages, ", ", tile.warp_rows / 4, ", ", registers.few, ", ",
         registers.many, "> Ring;");
}

}  // namespace gcg::cuda
