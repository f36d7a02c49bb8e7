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
// Limits for an L2 of 2 MiB and an L1 of 48 KiB: bytes that the pixels of a range read, and bytes that 32 pixels read
// in a k block.
constexpr int64_t most_row_bytes = 512 << 10, most_pixels = 224, deepest_block = 192;
constexpr int64_t wanted_tasks = 32;

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Sizes of tasks and of memory; sizes of memory are in words.
struct TiledPlan {
  TiledPlan(const ConvKernel& conv, const ConvPlan& plan) {
    piece = plan.widens() ? block / 2 : block / kVnniGroup;
    depth = conv.packing().units() * conv.taps() * piece;
    steps = ceil_of(depth, block) * block;
    row = steps + block;  // rows at a distance of 4096 bytes would share a set of L1
    columns = plan.widens() ? plan.vectors * plan.lanes : conv.packing().columns();
    pixels = std::clamp<int64_t>(most_row_bytes / (row * word_bytes), TileKernel::most_rows, most_pixels);
    const Dim map = conv.out_height * conv.out_width;
    if (map.is_constant() && map.constant() > 0)  // nearly equal ranges
      pixels = ceil_of(map.constant(), ceil_of(map.constant(), pixels));
    ranges = ceil_div(map, pixels);
    if (ranges.is_constant())
      splits = std::clamp<int64_t>(ceil_of(wanted_tasks, std::max<int64_t>(1, ranges.constant())), 1, plan.groups);
    groups = ceil_of(plan.groups, splits);
    splits = ceil_of(plan.groups, groups);
    rows_at = plan.widened_image + plan.widened_panel + (plan.widens() ? block * columns : 0);
    last_step_at = ceil_of(rows_at, block) * block;
    rows_at = last_step_at + (plan.widens() || depth == steps ? 0 : block * columns);
    sums_at = rows_at + pixels * row;
  }
  int64_t piece = 4;  // words of a block of channels of one pixel
  int64_t depth = 0;  // words of the data that a pixel reads
  // Words of a row of the product: `depth` rounded up to a multiple of 16, filled with zeros.
  int64_t steps = 0;
  int64_t row = 0;                                     // words from one pixel's data to the next
  int64_t columns = 0;                                 // words of a row of a panel
  int64_t pixels = 0;                                  // of a range
  Dim ranges;                                          // of an image
  int64_t splits = 1, groups = 1;                      // number of tasks per range, and of groups of channels per task
  int64_t last_step_at = 0, rows_at = 0, sums_at = 0;  // in scratch memory
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
        known_range_(f.variable(DType::i64)) {}

  KernelEmission emit() {
    state_.begin();
    f_.ir().CreateStore(f_.i64(-1), known_range_);
    f_.for_loop(f_.task_begin(), f_.task_end(), f_.i64(1), [&](Value* task) { emit_task(task); });
    state_.release();
    return {conv_.batch * tiled_.ranges * Dim(tiled_.splits), tiled_.scratch_bytes(),
            concat(tiled_.pixels, " pixels, ", plan_.widens() ? "pairs made once, " : "quads, ", "tiles",
                   conv_.bytes ? " of bytes" : ", weights of bf16")};
  }

 private:
  /// The range of a task: pixels [first, first + count) of an image.
  struct PixelRange {
    Value* image = nullptr;
    Value* first = nullptr;
    Value* count = nullptr;
  };

  Value* scratch(int64_t words) { return word(f_.scratch(), f_.i64(words)); }
  Value* word(Value* base, Value* offset) { return f_.element_address(base, DType::i32, offset); }

  void emit_task(Value* task) {
    Value* number = f_.ir().CreateUDiv(task, f_.i64(tiled_.splits));
    Value* split = sub(task, mul(number, tiled_.splits));
    Value* ranges = f_.dim(tiled_.ranges);
    PixelRange range;
    range.image = f_.ir().CreateUDiv(number, ranges);
    range.first = mul(sub(number, mul(range.image, ranges)), tiled_.pixels);
    range.count = min(sub(f_.dim(conv_.out_height * conv_.out_width), range.first), f_.i64(tiled_.pixels));
    f_.if_then(f_.ir().CreateICmpNE(f_.ir().CreateLoad(f_.ir().getInt64Ty(), known_range_), number), [&] {
      f_.ir().CreateStore(number, known_range_);
      lay_out(range);
    });
    state_.set_rows(height_of(range));
    Value* first = mul(split, tiled_.groups);
    f_.for_loop(first, min(add(first, f_.i64(tiled_.groups)), f_.i64(plan_.groups)), f_.i64(1),
                [&](Value* group) { emit_group(range, group); });
  }

  // Copies the inputs that the pixels read to scratch memory, in the layout of tiles.

  void lay_out(const PixelRange& range) {
    Value* image = source(range);
    if (is_pointwise(conv_)) return lay_out_pixels(range, image);
    each_pixel(range, [&](Value* p, Value* row, Value* column) {
      Value* to = word(scratch(tiled_.rows_at), mul(p, tiled_.row));
      Value* first_row = sub(mul(row, conv_.stride_h), f_.i64(conv_.pad_top));
      Value* first_column = sub(mul(column, conv_.stride_w), f_.i64(conv_.pad_left));
      if (takes_rows_of_taps()) return lay_out_rows_of_taps(image, first_row, first_column, to);
      each(conv_.kernel_h, [&](Value* kh) {
        Value* h = add(first_row, mul(kh, conv_.dilation_h));
        each(conv_.kernel_w, [&](Value* kw) {
          Value* w = add(first_column, mul(kw, conv_.dilation_w));
          lay_out_tap(image, h, w, word(to, mul(add(mul(kh, conv_.kernel_w), kw), tiled_.piece)));
        });
      });
      add_zeros(to);
    });
  }

  void add_zeros(Value* row) {
    for (int64_t end = tiled_.depth; end < tiled_.steps; end += tiled_.piece)
      store_piece(llvm::Constant::getNullValue(piece_type()), word(row, f_.i64(end)));
  }

  /// Lays out the input of a pointwise convolution, unit by unit and pixel by pixel.
  void lay_out_pixels(const PixelRange& range, Value* image) {
    const int64_t together = block / tiled_.piece, units = conv_.packing().units();
    Value* from = word(image, mul(range.first, tiled_.piece));
    Value* plane = f_.dim(conv_.in_height * conv_.in_width * Dim(tiled_.piece));
    const auto line = [&](Value* unit, int64_t count) {
      Value* first = word(from, mul(unit, plane));
      Value* to = word(scratch(tiled_.rows_at), mul(unit, tiled_.piece));
      f_.for_loop(f_.i64(0), range.count, f_.i64(1), [&](Value* p) {
        Value* pixel = word(first, mul(p, tiled_.piece));
        Value* all = llvm::Constant::getNullValue(f_.type(DType::i32, block));
        for (int64_t i = 0; i < count; ++i) {
          Value* piece = f_.ir().CreateAlignedLoad(piece_type(), word(pixel, mul(plane, i)), llvm::Align(1));
          all = f_.ir().CreateInsertVector(all->getType(), all, piece,
                                           f_.ir().getInt64(static_cast<uint64_t>(i * tiled_.piece)));
        }
        f_.store(all, word(to, mul(p, tiled_.row)), DType::i32, f_.i64(0));
      });
    };
    const int64_t whole_units = units / together * together;
    if (whole_units > 0)
      f_.for_loop(f_.i64(0), f_.i64(whole_units), f_.i64(together), [&](Value* unit) { line(unit, together); });
    if (units > whole_units) line(f_.i64(whole_units), units - whole_units);
  }

  /// True if the taps of a unit in a kernel row are adjacent in memory, and few.
  bool takes_rows_of_taps() const {
    constexpr int64_t most = 12;  // loads of a unit
    return conv_.kernel_w > 1 && conv_.dilation_w == 1 &&
           conv_.kernel_h * ceil_of(conv_.kernel_w * tiled_.piece, block) <= most;
  }

  /// Lays out unit by unit; within a unit, one whole kernel row after the other. A store may write beyond its row; the
  /// next store overwrites the excess.
  void lay_out_rows_of_taps(Value* image, Value* first_row, Value* first_column, Value* to) {
    llvm::IRBuilder<>& ir = f_.ir();
    const int64_t width = conv_.kernel_w * tiled_.piece, loads = ceil_of(width, block);
    const int lanes = static_cast<int>(block);
    std::vector<Value*> columns;  // masks
    for (int64_t v = 0; v < loads; ++v) {
      std::vector<llvm::Constant*> taps;
      for (int64_t lane = v * block; lane < (v + 1) * block; ++lane)
        taps.push_back(f_.i64(lane < width ? lane / tiled_.piece : INT32_MAX));
      Value* place = ir.CreateAdd(f_.splat(first_column, lanes), llvm::ConstantVector::get(taps));
      columns.push_back(ir.CreateICmpULT(place, f_.splat(f_.dim(conv_.in_width), lanes)));
    }
    struct Row {
      Value* offset;
      std::vector<Value*> masks;
    };
    std::vector<Row> rows;
    for (int64_t kh = 0; kh < conv_.kernel_h; ++kh) {
      Value* h = add(first_row, f_.i64(kh * conv_.dilation_h));
      Value* inside = ir.CreateICmpULT(h, f_.dim(conv_.in_height));
      Row row{mul(add(mul(h, f_.dim(conv_.in_width)), first_column), tiled_.piece), {}};
      for (Value* mask : columns)
        row.masks.push_back(ir.CreateSelect(inside, mask, llvm::Constant::getNullValue(mask->getType())));
      rows.push_back(std::move(row));
    }
    auto* line = llvm::FixedVectorType::get(ir.getInt32Ty(), static_cast<unsigned>(lanes));
    Value* plane = f_.dim(conv_.in_height * conv_.in_width * Dim(tiled_.piece));
    f_.for_loop(f_.i64(0), f_.i64(conv_.packing().units()), f_.i64(1), [&](Value* unit) {
      Value* from = word(image, mul(unit, plane));
      Value* unit_to = word(to, mul(unit, conv_.taps() * tiled_.piece));
      for (int64_t kh = 0; kh < conv_.kernel_h; ++kh)
        for (int64_t v = 0; v < loads; ++v) {
          const Row& row = rows[static_cast<size_t>(kh)];
          // The address may lie outside the image, but then no lane is active.
          Value* place = ir.CreateGEP(ir.getInt32Ty(), from, add(row.offset, f_.i64(v * block)));
          Value* taps = ir.CreateMaskedLoad(line, place, llvm::Align(1), row.masks[static_cast<size_t>(v)],
                                            llvm::Constant::getNullValue(line));
          ir.CreateAlignedStore(taps, word(unit_to, f_.i64(kh * width + v * block)), llvm::Align(word_bytes));
        }
    });
    add_zeros(to);
  }

  /// Calls body(number in the range, row, column) for all its pixels.
  void each_pixel(const PixelRange& range, const std::function<void(Value*, Value*, Value*)>& body) {
    llvm::IRBuilder<>& ir = f_.ir();
    Value* width = f_.dim(conv_.out_width);
    Value* row = ir.CreateUDiv(range.first, width);
    f_.for_loop(f_.i64(0), range.count, f_.i64(1), {row, sub(range.first, mul(row, width))},
                [&](Value* p, const FunctionBuilder::Values& at) {
                  body(p, at[0], at[1]);
                  Value* next = add(at[1], f_.i64(1));
                  Value* ends = ir.CreateICmpEQ(next, width);
                  return FunctionBuilder::Values{add(at[0], ir.CreateZExt(ends, ir.getInt64Ty())),
                                                 ir.CreateSelect(ends, f_.i64(0), next)};
                });
  }

  /// The image from which pieces are copied: the input, or the thread's conversion of it.
  Value* source(const PixelRange& range) {
    const Dim map = conv_.in_height * conv_.in_width;
    const int64_t units = conv_.packing().units();
    if (!plan_.widens())
      return word(f_.operand(conv_.input), f_.ir().CreateMul(range.image, f_.dim(map * Dim(units * tiled_.piece))));
    const auto first_pixel = [&](Value* pixel, int64_t beyond) {
      Value* row = f_.ir().CreateUDiv(pixel, f_.dim(conv_.out_width));
      return mul(sub(mul(row, conv_.stride_h), f_.i64(conv_.pad_top - beyond)), f_.dim(conv_.in_width));
    };
    Value* last = sub(add(range.first, range.count), f_.i64(1));
    return widening_.image(
        range.image, {first_pixel(range.first, 0), first_pixel(last, (conv_.kernel_h - 1) * conv_.dilation_h + 1)});
  }

  void lay_out_tap(Value* image, Value* h, Value* w, Value* to) {
    llvm::IRBuilder<>& ir = f_.ir();
    Value* inside =
        ir.CreateAnd(ir.CreateICmpULT(h, f_.dim(conv_.in_height)), ir.CreateICmpULT(w, f_.dim(conv_.in_width)));
    Value* place = word(image, mul(add(mul(h, f_.dim(conv_.in_width)), w), tiled_.piece));
    Value* from = ir.CreateSelect(inside, place, zeros(f_));
    Value* plane = ir.CreateSelect(inside, f_.dim(conv_.in_height * conv_.in_width * Dim(tiled_.piece)), f_.i64(0));
    const auto copy = [&](Value* first, int64_t count) {
      std::vector<Value*> pieces;
      for (int64_t i = 0; i < count; ++i) {
        Value* at = word(from, ir.CreateMul(add(first, f_.i64(i)), plane));
        pieces.push_back(ir.CreateAlignedLoad(piece_type(), at, llvm::Align(1)));
      }
      for (int64_t i = 0; i < count; ++i)
        store_piece(pieces[static_cast<size_t>(i)], word(to, mul(add(first, f_.i64(i)), conv_.taps() * tiled_.piece)));
    };
    constexpr int64_t together = 4;
    const int64_t units = conv_.packing().units(), whole_units = units / together * together;
    if (whole_units > 0)
      f_.for_loop(f_.i64(0), f_.i64(whole_units), f_.i64(together), [&](Value* unit) { copy(unit, together); });
    if (units > whole_units) copy(f_.i64(whole_units), units - whole_units);
  }

  llvm::Type* piece_type() {
    return llvm::FixedVectorType::get(f_.ir().getInt32Ty(), static_cast<unsigned>(tiled_.piece));
  }
  void store_piece(Value* piece, Value* to) { f_.ir().CreateAlignedStore(piece, to, llvm::Align(word_bytes)); }

  /// Emits for (i = 0; i < count; ++i), or only the body for a count of 1.
  void each(int64_t count, const std::function<void(Value*)>& body) {
    if (count == 1) return body(f_.i64(0));
    f_.for_loop(f_.i64(0), f_.i64(count), f_.i64(1), body);
  }

  // Products.

  void emit_group(const PixelRange& range, Value* group) {
    Value* panel = panel_of(group);
    Value* last_step = last_step_of(panel);
    const auto emit = [&](int64_t vectors) {
      const auto block_at = [&](Value* k, bool accumulate) {
        multiply(range, panel, last_step, k, static_cast<int>(vectors), accumulate);
      };
      block_at(f_.i64(0), false);
      if (tiled_.steps > deepest_block)
        f_.for_loop(f_.i64(deepest_block), f_.i64(tiled_.steps), f_.i64(deepest_block),
                    [&](Value* k) { block_at(k, true); });
      store(range, group, vectors);
      return FunctionBuilder::Values{};
    };
    if (plan_.last_vectors == plan_.vectors) return void(emit(plan_.vectors));
    f_.if_else(
        f_.ir().CreateICmpSLT(group, f_.i64(plan_.groups - 1)), [&] { return emit(plan_.vectors); },
        [&] { return emit(plan_.last_vectors); });
  }

  /// The words of a panel of bytes after its last whole step; null if there are none.
  Value* last_step_of(Value* panel) {
    if (plan_.widens() || tiled_.depth == tiled_.steps) return nullptr;
    const int64_t whole_steps = tiled_.steps - block;
    Value* to = scratch(tiled_.last_step_at);
    emit_last_rows(f_, word(panel, f_.i64(whole_steps * tiled_.columns)), f_.i64(tiled_.depth - whole_steps),
                   tiled_.columns, to);
    return to;
  }

  Value* panel_of(Value* group) {
    Value* words = mul(group, conv_.packing().panel_elements(conv_.taps()) / conv_.packing().vnni_group());
    if (!plan_.widens()) return word(f_.operand(conv_.weights), words);
    Value* panel = widening_.panel(group, f_.element_address(f_.operand(conv_.weights), DType::bf16, words));
    for (int64_t k = tiled_.depth; k < tiled_.steps; ++k)
      for (int64_t column = 0; column < tiled_.columns; column += block)
        f_.store(llvm::Constant::getNullValue(f_.type(DType::i32, block)), panel, DType::i32,
                 f_.i64(k * tiled_.columns + column));
    return panel;
  }

  Value* tiles_of(const PixelRange& range) {
    return f_.ir().CreateUDiv(add(range.count, f_.i64(TileKernel::most_rows - 1)), f_.i64(TileKernel::most_rows));
  }
  /// The number of pixels in the range's row tiles; the last may have fewer.
  Value* height_of(const PixelRange& range) {
    Value* tiles = tiles_of(range);
    return f_.ir().CreateUDiv(add(range.count, sub(tiles, f_.i64(1))), tiles);
  }

  /// Computes the sums of all pixels of the range over a block of the depth from word `k` on.
  void multiply(const PixelRange& range, Value* panel, Value* last_step, Value* k, int vectors, bool accumulate) {
    const int64_t depth = last_step ? tiled_.depth : tiled_.steps;
    Value* height = height_of(range);
    f_.for_loop(f_.i64(0), range.count, height, [&](Value* p) {
      TileOperands t;
      t.a = word(scratch(tiled_.rows_at), add(mul(p, tiled_.row), k));
      t.a_row_stride = f_.i64(tiled_.row * word_bytes);
      t.b = word(panel, mul(k, tiled_.columns));
      t.last_b = last_step;
      t.k = min(sub(f_.i64(depth), k), f_.i64(deepest_block));
      t.c = word(scratch(tiled_.sums_at), mul(p, tiled_.columns));
      t.rows = min(sub(range.count, p), height);
      t.prefetch = t.b;
      t.prefetch_lines = f_.i64(0);
      t.prefetch_mask = f_.i64(-1);
      state_.multiply({plan_.multiply, accumulate, vectors, tiled_.columns}, t);
    });
  }

  void store(const PixelRange& range, Value* group, int64_t vectors) {
    const DType type = conv_.bytes ? DType::i32 : DType::f32;
    each_pixel(range, [&](Value* p, Value* row, Value* column) {
      TileResult result;
      result.image = range.image;
      result.block = mul(group, plan_.group_blocks);
      result.plane = f_.i64(0);
      result.row = row;
      result.pixel = column;
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
  llvm::AllocaInst* known_range_;  // the range whose data is in scratch memory
};

}  // namespace

bool is_tiled(const ConvKernel& conv, const CpuTarget& target, const ConvPlan& plan) {
  const bool multiplied = plan.multiply == Multiply::halves || (conv.bytes && plan.multiply == Multiply::bytes);
  return target.has_amx && multiplied && fills_tiles(conv);
}

KernelEmission emit_tiled_conv(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan) {
  return TiledConvEmitter(f, conv, plan).emit();
}

}  // namespace gcg::cpu
