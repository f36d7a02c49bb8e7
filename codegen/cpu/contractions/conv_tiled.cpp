#include "codegen/cpu/contractions/conv_tiled.h"

#include <algorithm>

#include "codegen/cpu/contractions/conv_epilogue.h"
#include "codegen/cpu/contractions/conv_tile.h"
#include "codegen/cpu/contractions/conv_widen.h"
#include "codegen/cpu/contractions/index_arithmetic.h"
#include "codegen/cpu/contractions/tile_kernel.h"

namespace gcg::cpu {
namespace {

using llvm::Value;

constexpr int64_t block = 16, word_bytes = 4;
// Predicted, for L2 of 2 MiB and L1 of 48 KiB: what the pixels of a place read, and a k block of 48 of them.
constexpr int64_t most_row_bytes = 512 << 10, most_pixels = 192, deepest_block = 192;
constexpr int64_t wanted_tasks = 32;

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Sizes, in words where they are of memory.
struct TiledPlan {
  TiledPlan(const ConvKernel& conv, const ConvPlan& plan) {
    piece = plan.widens() ? block / 2 : block / kQuad;
    depth = conv.packing().units() * conv.taps() * piece;
    steps = plan.widens() ? ceil_of(depth, block) * block : depth;
    row = ceil_of(depth, block) * block + block;  // rows 4096 bytes apart would share a set of L1
    columns = plan.widens() ? plan.vectors * plan.lanes : conv.packing().columns();
    pixels = std::clamp<int64_t>(most_row_bytes / (row * word_bytes), TileKernel::most_rows, most_pixels);
    places = ceil_div(conv.out_height * conv.out_width, pixels);
    if (places.is_constant())
      splits = std::clamp<int64_t>(ceil_of(wanted_tasks, std::max<int64_t>(1, places.constant())), 1, plan.groups);
    groups = ceil_of(plan.groups, splits);
    splits = ceil_of(plan.groups, groups);
    rows_at = plan.widened_image + plan.widened_panel + (plan.widens() ? block * columns : 0);
    rows_at = ceil_of(rows_at, block) * block;
    sums_at = rows_at + pixels * row;
  }
  int64_t piece = 4;                 // of a pixel's block of channels
  int64_t depth = 0;                 // of what a pixel reads
  int64_t steps = 0;                 // of a product; of pairs to a multiple of 16, with zeros
  int64_t row = 0;                   // from one pixel's to the next
  int64_t columns = 0;               // of a row of a panel
  int64_t pixels = 0;                // of a place
  Dim places;                        // of an image
  int64_t splits = 1, groups = 1;    // tasks of a place, and the groups of channels of each
  int64_t rows_at = 0, sums_at = 0;  // in scratch memory
  int64_t scratch_bytes() const { return (sums_at + pixels * columns) * word_bytes; }
};

class TiledConvEmitter : IndexArithmetic {
 public:
  TiledConvEmitter(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan)
      : IndexArithmetic(f),
        f_(f),
        conv_(conv),
        plan_(plan),
        tiled_(conv, plan),
        widening_(f, conv, plan),
        epilogue_(f, conv, plan),
        state_(f),
        known_place_(f.variable(DType::i64)) {}

  KernelEmission emit() {
    state_.begin();
    f_.ir().CreateStore(f_.i64(-1), known_place_);
    f_.for_loop(f_.task_begin(), f_.task_end(), f_.i64(1), [&](Value* task) { emit_task(task); });
    state_.release();
    return {conv_.batch * tiled_.places * Dim(tiled_.splits), tiled_.scratch_bytes(),
            concat(tiled_.pixels, " pixels, ", plan_.widens() ? "pairs made once, " : "quads, ", "tiles",
                   conv_.bytes ? " of bytes" : ", weights of bf16")};
  }

 private:
  /// Of a task: pixels [first, first + count) of an image.
  struct Place {
    Value* image = nullptr;
    Value* first = nullptr;
    Value* count = nullptr;
  };

  Value* scratch(int64_t words) { return word(f_.scratch(), f_.i64(words)); }
  Value* word(Value* base, Value* offset) { return f_.element_address(base, DType::i32, offset); }

  void emit_task(Value* task) {
    Value* number = f_.ir().CreateUDiv(task, f_.i64(tiled_.splits));
    Value* split = sub(task, mul(number, tiled_.splits));
    Value* places = f_.dim(tiled_.places);
    Place place;
    place.image = f_.ir().CreateUDiv(number, places);
    place.first = mul(sub(number, mul(place.image, places)), tiled_.pixels);
    place.count = min(sub(f_.dim(conv_.out_height * conv_.out_width), place.first), f_.i64(tiled_.pixels));
    f_.if_then(f_.ir().CreateICmpNE(f_.ir().CreateLoad(f_.ir().getInt64Ty(), known_place_), number), [&] {
      f_.ir().CreateStore(number, known_place_);
      lay_out(place);
    });
    Value* first = mul(split, tiled_.groups);
    f_.for_loop(first, min(add(first, f_.i64(tiled_.groups)), f_.i64(plan_.groups)), f_.i64(1),
                [&](Value* group) { emit_group(place, group); });
  }

  // What pixels read.

  void lay_out(const Place& place) {
    Value* image = source(place);
    f_.for_loop(f_.i64(0), place.count, f_.i64(1), [&](Value* p) {
      Value* pixel = add(place.first, p);
      Value* row = f_.ir().CreateUDiv(pixel, f_.dim(conv_.out_width));
      Value* column = sub(pixel, mul(row, f_.dim(conv_.out_width)));
      Value* to = word(scratch(tiled_.rows_at), mul(p, tiled_.row));
      Value* first_row = sub(mul(row, conv_.stride_h), f_.i64(conv_.pad_top));
      Value* first_column = sub(mul(column, conv_.stride_w), f_.i64(conv_.pad_left));
      each(conv_.kernel_h, [&](Value* kh) {
        Value* h = add(first_row, mul(kh, conv_.dilation_h));
        each(conv_.kernel_w, [&](Value* kw) {
          Value* w = add(first_column, mul(kw, conv_.dilation_w));
          lay_out_tap(image, h, w, word(to, mul(add(mul(kh, conv_.kernel_w), kw), tiled_.piece)));
        });
      });
      for (int64_t end = tiled_.depth; end < tiled_.steps; end += tiled_.piece)
        store_piece(llvm::Constant::getNullValue(piece_type()), word(to, f_.i64(end)));
    });
  }

  /// The image that pieces are taken from: the input, or what the thread has made of it.
  Value* source(const Place& place) {
    const Dim map = conv_.in_height * conv_.in_width;
    const int64_t units = conv_.packing().units();
    if (!plan_.widens())
      return word(f_.operand(conv_.input), f_.ir().CreateMul(place.image, f_.dim(map * Dim(units * tiled_.piece))));
    const auto first_pixel = [&](Value* pixel, int64_t beyond) {
      Value* row = f_.ir().CreateUDiv(pixel, f_.dim(conv_.out_width));
      return mul(sub(mul(row, conv_.stride_h), f_.i64(conv_.pad_top - beyond)), f_.dim(conv_.in_width));
    };
    Value* last = sub(add(place.first, place.count), f_.i64(1));
    return widening_.image(
        place.image, {first_pixel(place.first, 0), first_pixel(last, (conv_.kernel_h - 1) * conv_.dilation_h + 1)});
  }

  void lay_out_tap(Value* image, Value* h, Value* w, Value* to) {
    llvm::IRBuilder<>& ir = f_.ir();
    Value* inside =
        ir.CreateAnd(ir.CreateICmpULT(h, f_.dim(conv_.in_height)), ir.CreateICmpULT(w, f_.dim(conv_.in_width)));
    Value* place = word(image, mul(add(mul(h, f_.dim(conv_.in_width)), w), tiled_.piece));
    Value* from = ir.CreateSelect(inside, place, zeros(f_));
    Value* plane = ir.CreateSelect(inside, f_.dim(conv_.in_height * conv_.in_width * Dim(tiled_.piece)), f_.i64(0));
    f_.for_loop(f_.i64(0), f_.i64(conv_.packing().units()), f_.i64(1), [&](Value* unit) {
      Value* piece = ir.CreateAlignedLoad(piece_type(), word(from, ir.CreateMul(unit, plane)), llvm::Align(1));
      store_piece(piece, word(to, mul(unit, conv_.taps() * tiled_.piece)));
    });
  }

  llvm::Type* piece_type() {
    return llvm::FixedVectorType::get(f_.ir().getInt32Ty(), static_cast<unsigned>(tiled_.piece));
  }
  void store_piece(Value* piece, Value* to) { f_.ir().CreateAlignedStore(piece, to, llvm::Align(word_bytes)); }

  /// for (i = 0; i < count; ++i), or its body alone.
  void each(int64_t count, const std::function<void(Value*)>& body) {
    if (count == 1) return body(f_.i64(0));
    f_.for_loop(f_.i64(0), f_.i64(count), f_.i64(1), body);
  }

  // Products.

  void emit_group(const Place& place, Value* group) {
    Value* panel = panel_of(group);
    const auto emit = [&](int64_t vectors) {
      multiply(place, panel, f_.i64(0), vectors, false);
      if (tiled_.steps > deepest_block)
        f_.for_loop(f_.i64(deepest_block), f_.i64(tiled_.steps), f_.i64(deepest_block),
                    [&](Value* k) { multiply(place, panel, k, vectors, true); });
      store(place, group, vectors);
      return FunctionBuilder::Values{};
    };
    if (plan_.last_vectors == plan_.vectors) return void(emit(plan_.vectors));
    f_.if_else(
        f_.ir().CreateICmpSLT(group, f_.i64(plan_.groups - 1)), [&] { return emit(plan_.vectors); },
        [&] { return emit(plan_.last_vectors); });
  }

  Value* panel_of(Value* group) {
    Value* words = mul(group, conv_.packing().panel_elements(conv_.taps()) / conv_.packing().quad());
    if (!plan_.widens()) return word(f_.operand(conv_.weights), words);
    Value* panel = widening_.panel(group, f_.element_address(f_.operand(conv_.weights), DType::bf16, words));
    for (int64_t k = tiled_.depth; k < tiled_.steps; ++k)
      for (int64_t column = 0; column < tiled_.columns; column += block)
        f_.store(llvm::Constant::getNullValue(f_.type(DType::i32, block)), panel, DType::i32,
                 f_.i64(k * tiled_.columns + column));
    return panel;
  }

  /// Sums of all pixels of the place over a block of the depth from word `k` on.
  void multiply(const Place& place, Value* panel, Value* k, int64_t vectors, bool accumulate) {
    Value* depth = min(sub(f_.i64(tiled_.steps), k), f_.i64(deepest_block));
    Value* tiles =
        f_.ir().CreateUDiv(add(place.count, f_.i64(TileKernel::most_rows - 1)), f_.i64(TileKernel::most_rows));
    Value* height = f_.ir().CreateUDiv(add(place.count, sub(tiles, f_.i64(1))), tiles);
    f_.for_loop(f_.i64(0), place.count, height, [&](Value* p) {
      for (int64_t v = 0; v < vectors; ++v) {
        TileOperands t;
        t.a = word(scratch(tiled_.rows_at), add(mul(p, tiled_.row), k));
        t.a_row_stride = f_.i64(tiled_.row * word_bytes);
        t.b = word(panel, add(mul(k, tiled_.columns), f_.i64(v * block)));
        t.k = depth;
        t.c = word(scratch(tiled_.sums_at + v * block), mul(p, tiled_.columns));
        t.rows = min(sub(place.count, p), height);
        t.prefetch = t.b;
        t.prefetch_lines = f_.i64(0);
        t.prefetch_mask = f_.i64(-1);
        state_.multiply({plan_.multiply, accumulate, tiled_.columns}, t);
      }
    });
  }

  void store(const Place& place, Value* group, int64_t vectors) {
    const DType type = conv_.bytes ? DType::i32 : DType::f32;
    f_.for_loop(f_.i64(0), place.count, f_.i64(1), [&](Value* p) {
      Value* pixel = add(place.first, p);
      Value* row = f_.ir().CreateUDiv(pixel, f_.dim(conv_.out_width));
      TileResult result;
      result.image = place.image;
      result.block = mul(group, plan_.group_blocks);
      result.plane = f_.i64(0);
      result.row = row;
      result.pixel = sub(pixel, mul(row, f_.dim(conv_.out_width)));
      result.first_lane = f_.i64(0);
      Value* sums = word(scratch(tiled_.sums_at), mul(p, tiled_.columns));
      for (int64_t v = 0; v < vectors; ++v)
        result.sums.push_back(f_.load(sums, type, f_.i64(v * block), static_cast<int>(plan_.lanes)));
      epilogue_.store(result);
    });
  }

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPlan& plan_;
  const TiledPlan tiled_;
  ConvWidening widening_;
  ConvEpilogue epilogue_;
  TileState state_;
  llvm::AllocaInst* known_place_;  // what lies in scratch memory
};

}  // namespace

bool is_tiled(const ConvKernel& conv, const CpuTarget& target, const ConvPlan& plan) {
  const bool multiplied = plan.multiply == Multiply::halves || (conv.bytes && plan.multiply == Multiply::quads);
  const Dim pixels = conv.out_height * conv.out_width;
  const bool few = pixels.is_constant() && pixels.constant() < TileKernel::least_rows;
  return target.has_amx && multiplied && conv.groups == 1 && conv.d.id < 0 && !conv.input_plain && !few;
}

KernelEmission emit_tiled_conv(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan) {
  return TiledConvEmitter(f, conv, plan).emit();
}

}  // namespace gcg::cpu
