#include "codegen/cpu/contractions/conv_row.h"

#include <algorithm>
#include <limits>

#include "codegen/cpu/contractions/conv_tile.h"

namespace gcg::cpu {
namespace {

using llvm::Value;

constexpr int64_t most_clipped = 7;  // the most pixels of a clipped tile; each takes a register for its address

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void ConvRow::emit(Value* begin, Value* end, int64_t vectors, const EmitTile& tile) {
  Value *inner_end = end, *right_begin = end;
  if (!plan_.flat) {
    const int64_t border = ceil_of(conv_.pad_left, conv_.stride_w);
    const int64_t reach = (conv_.kernel_w - 1) * conv_.dilation_w - conv_.pad_left;
    Value* room = max(sub(add(f_.dim(conv_.in_width), f_.i64(conv_.stride_w - 1)), f_.i64(reach)), f_.i64(0));
    inner_end = min(end, div(room, conv_.stride_w));
    begin = left_tile(begin, inner_end, border, tile);
    if (border > plan_.tile_pixels) begin = clipped_pixels(begin, max(begin, min(end, f_.i64(border))), vectors, tile);
    // If a row has no room for its border tile, all its tiles are clipped.
    Value* roomy = border > 0 ? f_.ir().CreateICmpSGT(begin, f_.i64(0)) : f_.ir().getTrue();
    right_begin = max(begin, right_tile_begin(f_.ir().CreateSelect(roomy, begin, end), end));
    inner_end = f_.ir().CreateSelect(roomy, min(inner_end, right_begin), begin);
  }
  begin = cover(begin, inner_end, cover_of(plan_.tile_pixels, vectors),
                [&](Value* pixel, int64_t pixels) { tile({pixels, {{0, conv_.kernel_w, 0, pixels}}}, pixel, {}); });
  if (!plan_.flat) clipped_pixels(begin, right_begin, vectors, tile);
  if (right_border_) right_tile(right_begin, end, tile);
}

void ConvRow::emit_alike(Value* begin, Value* end, int64_t vectors, const ValueRange& kw, const EmitTile& tile) {
  cover(begin, end, cover_of(plan_.tile_pixels, vectors),
        [&](Value* pixel, int64_t pixels) { tile({pixels, {}}, pixel, {kw, nullptr}); });
}

ValueRange ConvRow::columns_of(Value* pixel) {
  return kernel_range(pixel, conv_.stride_w, conv_.pad_left, conv_.kernel_w, conv_.dilation_w, f_.dim(conv_.in_width));
}

/// Sizes of the tiles that a row may have at its borders, largest first: halves, and three quarters. A row shorter than
/// a tile takes half the time if one tile holds it. In a map of one row, such as a signal, the row is long or takes
/// little time. Two sizes suffice there, and their code compiles faster.
std::vector<int64_t> ConvRow::border_tiles() const {
  if (plan_.rows.is(1)) return {plan_.tile_pixels, ceil_of(plan_.tile_pixels, 2)};
  std::vector<int64_t> sizes;
  for (int64_t pixels = plan_.tile_pixels; pixels > 1; pixels = ceil_of(pixels, 2)) {
    sizes.push_back(pixels);
    const int64_t less = ceil_of(3 * pixels, 4);
    if (less < pixels && less > ceil_of(pixels, 2)) sizes.push_back(less);
  }
  return sizes;
}

/// Emits one tile if `condition` holds; returns where the next one begins.
Value* ConvRow::tile_if(Value* condition, Value* begin, const TileAxis& tile, const EmitTile& emit) {
  Value* stop = add(begin, f_.ir().CreateSelect(condition, f_.i64(tile.positions), f_.i64(0)));
  f_.for_loop(begin, stop, f_.i64(tile.positions), [&](Value* pixel) { emit(tile, pixel, {}); });
  return stop;
}

/// Emits the largest tile that holds the clipped pixels at the start of the row and no others.
Value* ConvRow::left_tile(Value* begin, Value* inner_end, int64_t border, const EmitTile& emit) {
  if (border == 0) return begin;
  const ConvAxis axis{
      std::numeric_limits<int32_t>::max(), 0, conv_.kernel_w, conv_.stride_w, conv_.dilation_w, conv_.pad_left};
  for (int64_t pixels : border_tiles()) {
    if (pixels < border) break;
    Value* first = f_.ir().CreateICmpEQ(begin, f_.i64(0));
    Value* fits = f_.ir().CreateAnd(first, f_.ir().CreateICmpSLE(f_.i64(pixels), inner_end));
    begin = tile_if(fits, begin, tile_at(axis, 0, pixels), emit);
  }
  return begin;
}

/// The number of pixels at the right border, if it is constant. The stride may leave any remainder.
std::optional<int64_t> ConvRow::find_right_border() const {
  const Dim beyond = plan_.row_pixels - conv_.in_width + Dim((conv_.kernel_w - 1) * conv_.dilation_w - conv_.pad_left);
  if (plan_.flat || !plan_.symbolic_row() || conv_.stride_w != 1 || !beyond.is_constant() || beyond.constant() < 1)
    return {};
  return beyond.constant();
}

/// The start of the tile at the end of the row, if there is room for it; else `end`.
Value* ConvRow::right_tile_begin(Value* begin, Value* end) {
  Value* size = f_.i64(0);
  if (!right_border_) return end;
  Value* last = f_.ir().CreateICmpEQ(end, f_.dim(plan_.row_pixels));
  const std::vector<int64_t> sizes = border_tiles();
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] < *right_border_) continue;
    Value* fits = f_.ir().CreateAnd(last, f_.ir().CreateICmpSLE(f_.i64(sizes[i]), sub(end, begin)));
    size = f_.ir().CreateSelect(fits, f_.i64(sizes[i]), size);
  }
  return sub(end, size);
}

void ConvRow::right_tile(Value* begin, Value* end, const EmitTile& emit) {
  for (int64_t pixels : border_tiles()) {
    if (pixels < *right_border_) break;
    const int64_t reach = (conv_.kernel_w - 1) * conv_.dilation_w;
    const ConvAxis axis{pixels + reach - *right_border_, 0, conv_.kernel_w, 1, conv_.dilation_w, 0};
    Value* fits = f_.ir().CreateICmpEQ(sub(end, begin), f_.i64(pixels));
    begin = tile_if(fits, begin, tile_at(axis, 0, pixels), emit);
  }
}

RunCover ConvRow::cover_of(int64_t largest_tile, int64_t vectors) const {
  return cover_run(largest_tile, conv_.packing().by_lane() ? 1 : vectors);
}

/// Emits tiles for [begin, end), large ones first; returns where they end.
Value* ConvRow::cover(Value* begin, Value* end, const RunCover& cover,
                      const std::function<void(Value* pixel, int64_t pixels)>& emit) {
  const int64_t largest = cover.sizes.front();
  Value* pixels = max(sub(end, begin), f_.i64(0));
  Value* ahead = max(sub(div(pixels, largest), f_.i64(1)), f_.i64(0));  // tiles before the remainder
  Value* bits = mul(sub(pixels, mul(ahead, largest)), RunCover::count_bits);
  for (size_t i = 0; i < cover.sizes.size(); ++i) {
    Value* count = f_.ir().CreateLShr(f_.ir().getInt64(cover.counts[i]), bits);
    count = f_.ir().CreateAnd(count, f_.i64((1 << RunCover::count_bits) - 1));
    if (i == 0) count = add(count, ahead);
    Value* stop = add(begin, mul(count, cover.sizes[i]));
    f_.for_loop(begin, stop, f_.i64(cover.sizes[i]), [&](Value* pixel) { emit(pixel, cover.sizes[i]); });
    begin = stop;
  }
  return begin;
}

/// Emits pixels that may miss different taps; returns where they end.
Value* ConvRow::clipped_pixels(Value* begin, Value* end, int64_t vectors, const EmitTile& emit) {
  const bool alone = conv_.packing().by_lane() && !conv_.depthwise();
  const int64_t largest = alone ? 1 : std::min(plan_.tile_pixels, most_clipped);
  return cover(begin, end, cover_of(largest, vectors),
               [&](Value* pixel, int64_t pixels) { clipped_tile(pixel, pixels, emit); });
}

void ConvRow::clipped_tile(Value* pixel, int64_t pixels, const EmitTile& emit) {
  const ValueRange first = columns_of(pixel), last = columns_of(add(pixel, f_.i64(pixels - 1)));
  const auto tile = [&](bool alike) {
    ClippedColumns clipped;
    clipped.kw = {last.begin, first.end};
    if (!alike) clipped.first = sub(mul(pixel, conv_.stride_w), f_.i64(conv_.pad_left));
    emit({pixels, {}}, pixel, clipped);
    return FunctionBuilder::Values{};
  };
  if (pixels == 1 || conv_.dilation_w == 1 || conv_.packing().by_lane()) {
    tile(pixels == 1);
    return;
  }
  // If taps are far apart, all pixels often miss the same ones.
  Value* alike =
      f_.ir().CreateAnd(f_.ir().CreateICmpEQ(first.begin, last.begin), f_.ir().CreateICmpEQ(first.end, last.end));
  f_.if_else(alike, [&] { return tile(true); }, [&] { return tile(false); });
}

}  // namespace gcg::cpu
