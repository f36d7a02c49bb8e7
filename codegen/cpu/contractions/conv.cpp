// A convolution kernel: its tasks, the rows and tiles of a task, and the borders of the map.
#include "codegen/cpu/contractions/conv_epilogue.h"
#include "codegen/cpu/contractions/conv_passes.h"
#include "codegen/cpu/contractions/conv_plan.h"
#include "codegen/cpu/contractions/conv_row.h"
#include "codegen/cpu/contractions/conv_tile.h"
#include "codegen/cpu/contractions/conv_tiled.h"
#include "codegen/cpu/contractions/conv_widen.h"
#include "codegen/cpu/contractions/conv_winograd.h"
#include "codegen/cpu/llvm/emit.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using Value = llvm::Value;

constexpr int64_t block = 16;

class ConvEmitter : IndexArithmetic {
 public:
  ConvEmitter(FunctionBuilder& f, const ConvKernel& conv)
      : IndexArithmetic(f),
        f_(f),
        conv_(conv),
        packing_(conv.packing()),
        weights_(f.kernel().operands[static_cast<size_t>(conv.weights)].dtype),
        plan_(plan_conv(conv, f.target(), epilogue_allows_flat(f.kernel(), conv), weights_)),
        layout_(conv_layout(f, conv, plan_)),
        widening_(f, conv, plan_),
        epilogue_(f, conv, plan_),
        passes_(f, conv, plan_),
        symbolic_row_(f, conv, plan_) {}

  KernelEmission emit() {
    f_.for_loop(f_.task_begin(), f_.task_end(), f_.i64(1), [&](Value* task) { emit_task(task); });
    const int64_t vectors = plan_.vectors, rows = plan_.row_tiles.empty() ? 1 : plan_.row_tiles[0].tile.positions;
    return {plan_.tasks, plan_.scratch_bytes(),
            concat(rows > 1 ? concat(rows, "x") : "", plan_.tile_pixels, "x", vectors,
                   conv_.depthwise()    ? " depthwise"
                   : packing_.by_lane() ? " by lane"
                   : conv_.input_plain  ? " plain"
                                        : "",
                   " tiles", conv_.bytes ? " of bytes" : "",
                   plan_.multiply == Multiply::halves ? ", pairs made once"
                   : plan_.widens()                   ? ", widened once"
                                                      : "",
                   !conv_.bytes && weights_ != DType::f32 ? concat(", weights of ", name_of(weights_)) : "",
                   plan_.flat              ? ", flat"
                   : plan_.may_become_flat ? ", flat where taps are alike"
                                           : "",
                   !plan_.regions_together       ? ", weights outer"
                   : plan_.regions_together == 1 ? ", rows outer"
                                                 : concat(", weights over ", *plan_.regions_together, " tasks"),
                   plan_.units_per_pass > 0 ? ", passes over the depth" : "")};
  }

 private:
  /// The part of the convolution that a task computes.
  struct Task {
    Value* image = nullptr;    // batch index
    Value* group = nullptr;    // of output channels
    Value* plane = nullptr;    // of the output
    ValueRange kd;             // kernel planes inside the map
    Value* input = nullptr;    // address of the input plane at the first tap, in the group's first channel block
    Value* weights = nullptr;  // the group's
    ValueRange rows, tiles;    // tiles: only if the plan cuts rows
    int64_t vectors = 1;       // vectors of the group's channels
  };

  /// Removes the index that changes fastest from `remaining` and returns it.
  Value* take(Value*& remaining, const Dim& extent) {
    if (extent.is(1)) return f_.i64(0);
    Value* size = f_.dim(extent);
    Value* quotient = f_.ir().CreateUDiv(remaining, size);
    Value* index = sub(remaining, mul(quotient, size));
    remaining = quotient;
    return index;
  }

  /// Splits a task's number into its group and the number of its region. Fewer regions than `together` may be left at
  /// the end.
  void take_group(Task& task, Value*& remaining) {
    if (plan_.regions_together == 1) {
      task.group = take(remaining, plan_.groups);
      return;
    }
    const int64_t together = *plan_.regions_together;
    Value* first = mul(f_.ir().CreateUDiv(remaining, f_.i64(together * plan_.groups)), together);
    Value* regions = min(sub(f_.dim(plan_.regions(conv_)), first), f_.i64(together));
    remaining = sub(remaining, mul(first, plan_.groups));
    task.group = f_.ir().CreateUDiv(remaining, regions);
    remaining = add(first, sub(remaining, mul(task.group, regions)));
  }

  void emit_task(Value* number) {
    Task task;
    Value* remaining = number;
    if (plan_.regions_together) take_group(task, remaining);
    Value* tile_block = take(remaining, plan_.tile_blocks);
    Value* row_block = take(remaining, plan_.row_blocks);
    task.plane = take(remaining, conv_.out_depth);
    task.image = plan_.regions_together ? remaining : take(remaining, conv_.batch);
    if (!plan_.regions_together) task.group = remaining;
    task.rows.begin = mul(row_block, plan_.rows_per_task);
    task.rows.end = min(add(task.rows.begin, f_.i64(plan_.rows_per_task)), f_.dim(plan_.row_steps));
    if (plan_.tiles_per_task > 0) {
      task.tiles.begin = mul(tile_block, plan_.tiles_per_task);
      task.tiles.end = add(task.tiles.begin, f_.i64(plan_.tiles_per_task));
    }
    task.kd = kernel_planes(task.plane);
    Value* offset = panel_offset(task.group);
    if (plan_.widens()) {
      task.input = widening_.image(task.image, widening_.pixels(task.rows, task.tiles));
      Value* weights = f_.operand(conv_.weights);
      task.weights =
          widening_.panel(task.group, f_.element_address(weights, conv_.bytes ? DType::i32 : weights_, offset));
    } else {
      task.weights = weight_address(f_, layout_, f_.operand(conv_.weights), offset);
      task.input = word_address(f_, layout_, f_.operand(conv_.input), mul(task.image, layout_.image));
    }
    Value* first_plane = sub(mul(task.plane, conv_.stride_d), f_.i64(conv_.pad_front));
    task.input = word_address(f_, layout_, task.input, mul(first_plane, layout_.plane));
    task.input = word_address(f_, layout_, task.input, mul(first_block(task.group), layout_.block));
    task.vectors = plan_.vectors;
    auto emit = [&] { passes_.for_each([&] { emit_rows(task); }); };
    if (plan_.last_vectors == plan_.vectors) return emit();
    f_.if_else(
        f_.ir().CreateICmpSLT(task.group, f_.i64(plan_.groups - 1)), [&] { return emit(), FunctionBuilder::Values{}; },
        [&] {
          task.vectors = plan_.last_vectors;
          return emit(), FunctionBuilder::Values{};
        });
  }

  /// The first block of input channels that a group of output channels reads. If groups are not whole blocks, the code
  /// of each tile computes this block itself.
  Value* first_block(Value* group) {
    if (conv_.depthwise()) return group;
    if (packing_.groups == 1 || packing_.by_lane()) return f_.i64(0);
    return mul(div(mul(group, plan_.group_blocks), packing_.group_outputs() / block), packing_.inputs / block);
  }

  /// A row of tiles.
  struct RowPosition {
    Value* step = nullptr;  // its number
    Value* row = nullptr;   // the first row of the output that the loop computes
    TileAxis tile;
    TilePosition place;  // the place of the first pixel, as if it were at input column 0
  };

  void emit_rows(const Task& task) {
    if (!plan_.may_become_flat) return emit_rows_of_map(task);
    const auto last = [&](const Dim& extent) { return sub(f_.dim(extent), f_.i64(1)); };
    const ValueRange kh = kernel_rows(f_.i64(0)), kw = symbolic_row_.columns_of(f_.i64(0));
    Value* alike = f_.ir().CreateAnd(same(kh, kernel_rows(last(plan_.rows))),
                                     same(kw, symbolic_row_.columns_of(last(plan_.row_pixels))));
    f_.if_else(
        alike, [&] { return emit_flat(task, kh, kw), FunctionBuilder::Values{}; },
        [&] { return emit_rows_of_map(task), FunctionBuilder::Values{}; });
  }

  Value* same(const ValueRange& a, const ValueRange& b) {
    return f_.ir().CreateAnd(f_.ir().CreateICmpEQ(a.begin, b.begin), f_.ir().CreateICmpEQ(a.end, b.end));
  }

  /// Emits the code for maps in which all pixels have the same taps. The task's part of a plane is treated as one row.
  void emit_flat(const Task& task, const ValueRange& kh, const ValueRange& kw) {
    Value *width = f_.dim(plan_.row_pixels), *pixels = f_.ir().CreateMul(f_.dim(plan_.rows), width);
    ValueRange run{f_.ir().CreateMul(task.rows.begin, width), f_.ir().CreateMul(task.rows.end, width)};
    // The tasks of a row cover its tiles, so the tasks of all rows together cover the map.
    if (plan_.tiles_per_task > 0) {
      Value* row_tiles = mul(f_.dim(plan_.tile_blocks), plan_.tiles_per_task);
      Value* first_tile = add(f_.ir().CreateMul(task.rows.begin, row_tiles), task.tiles.begin);
      run.begin = mul(first_tile, plan_.tile_pixels);
      run.end = min(add(run.begin, f_.i64(plan_.tiles_per_task * plan_.tile_pixels)), pixels);
    }
    RowPosition at{f_.i64(0), f_.i64(0), {}, {}};
    at.place.kh = kh;
    at.place.input = word_address(f_, layout_, task.input, mul(layout_.row, -conv_.pad_top));
    at.place.kd = task.kd;
    at.place.weights = task.weights;
    symbolic_row_.emit_alike(run.begin, run.end, task.vectors, kw,
                             [&](const TileAxis& columns, Value* pixel, const ClippedColumns& clipped) {
                               RowPosition here = at;
                               here.place.kw = clipped.kw;
                               emit_tile(task, columns, here, pixel);
                             });
  }

  void emit_rows_of_map(const Task& task) {
    if (plan_.row_tiles.empty()) {
      f_.for_loop(task.rows.begin, task.rows.end, f_.i64(1), [&](Value* row) {
        RowPosition at{row, row, {}, {}};
        at.place.kh = kernel_rows(row);
        emit_row(task, at);
      });
    }
    for (const TileSegment& s : plan_.row_tiles) {
      Value* begin = max(task.rows.begin, f_.i64(s.first_tile));
      Value* end = min(task.rows.end, f_.i64(s.first_tile + s.tiles));
      f_.for_loop(begin, end, f_.i64(1), [&](Value* step) { emit_row(task, {step, position(s, step), s.tile, {}}); });
    }
  }

  /// First output position of tile number `tile` of a segment.
  Value* position(const TileSegment& s, Value* tile) {
    return add(mul(sub(tile, f_.i64(s.first_tile)), s.tile.positions), f_.i64(s.first_position));
  }

  void emit_row(const Task& task, RowPosition at) {
    Value* first_row = sub(mul(at.row, conv_.stride_h), f_.i64(conv_.pad_top));
    at.place.input = word_address(f_, layout_, task.input, mul(first_row, layout_.row));
    at.place.kd = task.kd;
    at.place.weights = task.weights;
    if (plan_.symbolic_row())
      symbolic_row(task, at);
    else
      static_row(task, at);
  }

  /// The kernel planes that lie inside the map for output plane `plane`.
  ValueRange kernel_planes(Value* plane) {
    const bool inside = conv_.in_depth.is_constant() && conv_.out_depth.is_constant() &&
                        (conv_.out_depth.constant() - 1) * conv_.stride_d < conv_.in_depth.constant();
    if (conv_.kernel_d == 1 && conv_.pad_front == 0 && inside) return {f_.i64(0), f_.i64(1)};
    return kernel_range(plane, conv_.stride_d, conv_.pad_front, conv_.kernel_d, conv_.dilation_d,
                        f_.dim(conv_.in_depth));
  }

  /// The kernel rows that lie inside the map for output row `row`.
  ValueRange kernel_rows(Value* row) {
    const int64_t reach = (conv_.kernel_h - 1) * conv_.dilation_h;
    const bool all = conv_.pad_top == 0 && conv_.in_height.is_constant() && conv_.out_height.is_constant() &&
                     (conv_.out_height.constant() - 1) * conv_.stride_h + reach < conv_.in_height.constant();
    if (plan_.flat || all) return {f_.i64(0), f_.i64(conv_.kernel_h)};
    return kernel_range(row, conv_.stride_h, conv_.pad_top, conv_.kernel_h, conv_.dilation_h, f_.dim(conv_.in_height));
  }

  /// The offset of the group's weights. Groups of one block share a panel of two blocks.
  Value* panel_offset(Value* group) {
    const int64_t words = packing_.panel_elements(conv_.taps()) / packing_.vnni_group();
    if (plan_.group_blocks * block == packing_.columns()) return mul(group, words);
    Value* odd = f_.ir().CreateAnd(group, f_.i64(1));
    return add(mul(f_.ir().CreateLShr(group, f_.i64(1)), words), mul(odd, block));
  }

  void static_row(const Task& task, const RowPosition& at) {
    for (const TileSegment& s : plan_.column_tiles) {
      Value* begin = f_.i64(s.first_tile);
      Value* end = f_.i64(s.first_tile + s.tiles);
      if (plan_.tiles_per_task > 0) {
        begin = max(begin, task.tiles.begin);
        end = min(end, task.tiles.end);
      }
      auto emit = [&](Value* tile) {
        RowPosition here = at;
        if (plan_.prefetch_lines > 0) {
          const TileSegment& last = plan_.column_tiles.back();
          Value* number = add(mul(at.step, last.first_tile + last.tiles), tile);
          if (plan_.regions_together) number = f_.ir().CreateURem(number, f_.i64(plan_.prefetching_tiles));
          here.place.prefetch = prefetch_address(task, number);
        }
        emit_tile(task, s.tile, here, position(s, tile));
      };
      if (s.tiles == 1 && plan_.tiles_per_task == 0)
        emit(begin);
      else
        f_.for_loop(begin, end, f_.i64(1), emit);
    }
  }

  /// The address in the next group's panel of the first line that a tile prefetches. `number`: the tile's number in its
  /// group.
  Value* prefetch_address(const Task& task, Value* number) {
    const int64_t columns = packing_.columns(),
                  line_floats = plan_.group_blocks * block == columns ? 64 / size_of(layout_.weights) : columns;
    Value* offset = add(panel_offset(add(task.group, f_.i64(1))), mul(number, plan_.prefetch_lines * line_floats));
    return weight_address(f_, layout_, f_.operand(conv_.weights), offset);
  }

  void symbolic_row(const Task& task, const RowPosition& at) {
    Value* begin = f_.i64(0);
    Value* end = f_.dim(plan_.row_pixels);
    if (plan_.tiles_per_task > 0) {
      begin = mul(task.tiles.begin, plan_.tile_pixels);
      end = min(end, mul(task.tiles.end, plan_.tile_pixels));
    }
    symbolic_row_.emit(begin, end, task.vectors,
                       [&](const TileAxis& columns, Value* pixel, const ClippedColumns& clipped) {
                         RowPosition here = at;
                         here.place.kw = clipped.kw;
                         here.place.column = clipped.first;
                         if (plan_.prefetch_lines > 0) {
                           Value* number = add(at.step, div(pixel, plan_.tile_pixels));
                           number = f_.ir().CreateURem(number, f_.i64(plan_.prefetching_tiles));
                           here.place.prefetch = prefetch_address(task, number);
                         }
                         emit_tile(task, columns, here, pixel);
                       });
  }

  void emit_tile(const Task& task, const TileAxis& columns, const RowPosition& at, Value* pixel) {
    const TileShape shape{at.tile, columns};
    TilePosition place = at.place;
    Value* column = sub(mul(pixel, conv_.stride_w), f_.i64(conv_.pad_left));
    place.input = word_address(f_, layout_, place.input, mul(column, layout_.channels));
    TileResult result{task.image, mul(task.group, plan_.group_blocks), task.plane, at.row, pixel, shape, f_.i64(0), {}};
    if (!packing_.by_lane()) {
      passes_.begin_tile(place, shape.pixels() * task.vectors);
      result.sums = reduce_dense(f_, conv_, plan_, layout_, shape, task.vectors, place);
      return passes_.end_tile(result.sums, [&] { epilogue_.store(result); });
    }
    f_.for_loop(f_.i64(0), channels_of(task.group), f_.i64(plan_.lanes), [&](Value* lane) {
      TilePosition part = place;
      part.weights = weight_address(f_, layout_, place.weights, lane);
      result.first_lane = lane;
      if (conv_.depthwise()) {
        part.input = word_address(f_, layout_, place.input, lane);
        result.sums = reduce_depthwise(f_, conv_, plan_, layout_, shape, part);
      } else {
        Value* channel = add(mul(task.group, block), lane);
        result.sums = reduce_by_lane(f_, conv_, plan_, layout_, shape, part, channel);
      }
      epilogue_.store(result);
    });
  }

  /// The number of channels that exist in the group's block, for groups of one block.
  Value* channels_of(Value* group) {
    if (conv_.out_channels % block == 0 || plan_.lanes == block) return f_.i64(block);
    return min(sub(f_.i64(conv_.out_channels), mul(group, block)), f_.i64(block));
  }

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPacking packing_;
  const DType weights_;  // in memory
  const ConvPlan plan_;
  const ConvLayout layout_;
  ConvWidening widening_;
  ConvEpilogue epilogue_;
  ConvPasses passes_;
  ConvRow symbolic_row_;
};

}  // namespace

KernelEmission emit_body(FunctionBuilder& f, const Kernel&, const ConvKernel& conv) {
  if (conv.winograd > 0) return emit_winograd_conv(f, conv);
  const DType weights = f.kernel().operands[static_cast<size_t>(conv.weights)].dtype;
  const ConvPlan plan = plan_conv(conv, f.target(), /*flat_allowed=*/false, weights);
  return is_tiled(conv, f.target(), plan) ? emit_tiled_conv(f, conv, plan) : ConvEmitter(f, conv).emit();
}

}  // namespace gcg::cpu
