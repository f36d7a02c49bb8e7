// A convolution kernel by Winograd's form: transform inputs, multiply, transform sums, store (winograd_plan.h).
#include "codegen/cpu/contractions/conv_winograd.h"

#include "codegen/cpu/contractions/conv_epilogue.h"
#include "codegen/cpu/contractions/conv_tile.h"
#include "codegen/cpu/contractions/winograd_plan.h"
#include "codegen/cpu/contractions/winograd_transform.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using Value = llvm::Value;
using Values = FunctionBuilder::Values;

constexpr int64_t block = kChannelBlock;

/// The matrix product of one product of the form, as a pointwise convolution whose pixels are tiles.
ConvKernel pointwise(const ConvKernel& conv, int64_t products) {
  ConvKernel k = conv;
  k.kernel_h = products;  // of the packed weights; one of them at a time
  k.kernel_w = k.stride_h = k.stride_w = 1;
  k.pad_top = k.pad_left = 0;
  return k;
}

ConvPlan register_tiles(const WinogradPlan& plan) {
  ConvPlan out;
  out.lanes = plan.lanes;
  out.group_blocks = plan.group_blocks;
  out.vectors = plan.vectors;
  return out;
}

class WinogradEmitter {
 public:
  WinogradEmitter(FunctionBuilder& f, const ConvKernel& conv)
      : f_(f),
        conv_(conv),
        form_(winograd_form(conv.winograd)),
        packing_(conv.packing()),
        plan_(plan_winograd(conv, f.target())),
        product_(pointwise(conv, form_.products())),
        tiles_(register_tiles(plan_)),
        layout_(conv_layout(f, product_, tiles_)),
        image_layout_(conv_layout(f, conv, tiles_)),
        epilogue_(f, conv, tiles_) {
    layout_.block = f.i64(form_.products() * plan_.padded_tiles * block);
  }

  KernelEmission emit() {
    f_.for_loop(f_.task_begin(), f_.task_end(), f_.i64(1), [&](Value* task) { emit_task(task); });
    return {plan_.tasks, Dim(plan_.scratch * 4),
            concat("winograd ", form_.tile, "x", form_.tile, ", ", plan_.tiles, " tiles, ", plan_.tile_pixels, "x",
                   plan_.vectors, " register tiles")};
  }

 private:
  struct Task {
    Value* image = nullptr;
    Value* first_tile = nullptr;
    Value* tiles = nullptr;
  };
  /// A tile's outputs begin here.
  struct TileAt {
    Value *row, *column;
  };

  Value* add(Value* a, Value* b) { return f_.ir().CreateAdd(a, b, "", false, true); }
  Value* add(Value* a, int64_t b) { return add(a, f_.i64(b)); }
  Value* sub(Value* a, Value* b) { return f_.ir().CreateSub(a, b, "", false, true); }
  Value* mul(Value* a, int64_t b) { return f_.ir().CreateMul(a, f_.i64(b), "", false, true); }
  Value* mul(Value* a, Value* b) { return f_.ir().CreateMul(a, b, "", false, true); }
  Value* min(Value* a, Value* b) { return f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
  Value* floats(Value* base, Value* offset) { return f_.ir().CreateGEP(f_.ir().getFloatTy(), base, offset); }
  Value* floats(Value* base, int64_t offset) { return floats(base, f_.i64(offset)); }
  Value* load(Value* address) { return load_vector(f_, address, plan_.lanes); }
  void store(Value* vector, Value* address) { f_.ir().CreateAlignedStore(vector, address, llvm::Align(4)); }

  Value* take(Value*& rest, const Dim& extent) {
    Value* size = f_.dim(extent);
    Value* quotient = f_.ir().CreateUDiv(rest, size);
    Value* index = sub(rest, mul(quotient, size));
    rest = quotient;
    return index;
  }

  void emit_task(Value* number) {
    Task task;
    Value* rest = number;
    task.first_tile = mul(take(rest, plan_.tile_blocks), plan_.tiles);
    Value* first_group = mul(take(rest, plan_.group_tasks), plan_.groups_per_task);
    task.image = rest;
    task.tiles = min(f_.i64(plan_.tiles), sub(f_.dim(plan_.tile_count), task.first_tile));
    f_.for_loop(f_.i64(0), task.tiles, f_.i64(1), [&](Value* tile) { transform_inputs(task, tile); });
    Value* end = min(add(first_group, plan_.groups_per_task), f_.i64(plan_.groups));
    f_.for_loop(first_group, end, f_.i64(1), [&](Value* group) {
      if (plan_.last_vectors == plan_.vectors) return emit_group(task, group, plan_.vectors);
      f_.if_else(
          f_.ir().CreateICmpSLT(group, f_.i64(plan_.groups - 1)),
          [&] { return emit_group(task, group, plan_.vectors), Values{}; },
          [&] { return emit_group(task, group, plan_.last_vectors), Values{}; });
    });
  }

  TileAt place_of(const Task& task, Value* tile) {
    Value* number = add(task.first_tile, tile);
    Value* columns = f_.dim(plan_.tile_columns);
    Value* row = f_.ir().CreateUDiv(number, columns);
    return {mul(row, form_.tile), mul(sub(number, mul(row, columns)), form_.tile)};
  }

  // ---- inputs

  void transform_inputs(const Task& task, Value* tile) {
    const TileAt at = place_of(task, tile);
    Value *row = sub(at.row, f_.i64(conv_.pad_top)), *column = sub(at.column, f_.i64(conv_.pad_left));
    Value *height = f_.dim(conv_.in_height), *width = f_.dim(conv_.in_width);
    const auto within = [&](Value* first, Value* extent) {
      Value* begins = f_.ir().CreateICmpSGE(first, f_.i64(0));
      return f_.ir().CreateAnd(begins, f_.ir().CreateICmpSLE(add(first, form_.side()), extent));
    };
    Value* inner = f_.ir().CreateAnd(within(row, height), within(column, width));
    Values offsets, inside;
    for (int64_t i = 0; i < form_.side(); ++i)
      for (int64_t j = 0; j < form_.side(); ++j) {
        Value *r = add(row, i), *c = add(column, j);
        offsets.push_back(mul(add(mul(r, width), c), block));
        inside.push_back(f_.ir().CreateAnd(f_.ir().CreateICmpULT(r, height), f_.ir().CreateICmpULT(c, width)));
      }
    Value* image = floats(f_.operand(conv_.input), mul(task.image, image_layout_.image));
    f_.if_else(
        inner, [&] { return transform_units(image, tile, offsets, {}), Values{}; },
        [&] { return transform_units(image, tile, offsets, inside), Values{}; });
  }

  /// `inside`: which elements of the tile there are; empty: all.
  void transform_units(Value* image, Value* tile, const Values& offsets, const Values& inside) {
    f_.for_loop(f_.i64(0), f_.i64(packing_.units()), f_.i64(1), [&](Value* unit) {
      Value* plane = floats(image, mul(unit, image_layout_.block));
      Value* to = floats(f_.scratch(), add(mul(unit, layout_.block), mul(tile, block)));
      for (int64_t lane = 0; lane < block; lane += plan_.lanes) {
        const auto place = [&](size_t row, size_t column) { return row * static_cast<size_t>(form_.side()) + column; };
        transform_tile(
            f_, form_.input,
            [&](size_t row, size_t column) {
              Value* address = floats(plane, offsets[place(row, column)]);
              if (!inside.empty()) address = f_.ir().CreateSelect(inside[place(row, column)], address, zeros(f_));
              return load(floats(address, lane));
            },
            [&](size_t row, size_t column, Value* y) {
              store(y, floats(to, static_cast<int64_t>(place(row, column)) * plan_.padded_tiles * block + lane));
            });
      }
    });
  }

  // ---- products and outputs

  void emit_group(const Task& task, Value* group, int64_t vectors) {
    f_.for_loop(f_.i64(0), f_.i64(form_.products()), f_.i64(1),
                [&](Value* product) { multiply(task, group, product, vectors); });
    f_.for_loop(f_.i64(0), task.tiles, f_.i64(1), [&](Value* tile) {
      for (int64_t v = 0; v < vectors; ++v) transform_sums(task, group, tile, v);
    });
  }

  Value* panel(Value* group) {
    const int64_t elements = packing_.panel_elements(form_.products());
    if (plan_.group_blocks * block == packing_.columns()) return mul(group, elements);
    Value* odd = f_.ir().CreateAnd(group, f_.i64(1));
    return add(mul(f_.ir().CreateLShr(group, f_.i64(1)), elements), mul(odd, block));
  }

  Value* sums_of(Value* product, Value* tile) {
    Value* row = add(mul(product, plan_.padded_tiles), tile);
    return floats(f_.scratch(), add(mul(row, plan_.vectors * plan_.lanes), plan_.sums_at));
  }

  void multiply(const Task& task, Value* group, Value* product, int64_t vectors) {
    TilePlace place;
    place.kd = place.units = {f_.i64(0), f_.i64(1)};
    place.units.end = f_.i64(packing_.units());
    place.kh = place.kd;
    place.weights = floats(f_.operand(conv_.weights), add(panel(group), mul(product, block * packing_.columns())));
    const TileShape shape{{1, {}}, {plan_.tile_pixels, {{0, 1, 0, plan_.tile_pixels}}}};
    Value* inputs = floats(f_.scratch(), mul(product, plan_.padded_tiles * block));
    f_.for_loop(f_.i64(0), task.tiles, f_.i64(plan_.tile_pixels), [&](Value* tile) {
      TilePlace here = place;
      here.input = floats(inputs, mul(tile, block));
      const Values sums = reduce_dense(f_, product_, tiles_, layout_, shape, vectors, here);
      Value* to = sums_of(product, tile);
      for (int64_t p = 0; p < plan_.tile_pixels; ++p)
        for (int64_t v = 0; v < vectors; ++v)
          store(sums[static_cast<size_t>(p * vectors + v)], floats(to, (p * plan_.vectors + v) * plan_.lanes));
    });
  }

  /// Vector `v` of the tile's outputs, through scratch memory: the epilogue is emitted once per row, not once per
  /// output.
  void transform_sums(const Task& task, Value* group, Value* tile, int64_t v) {
    Value* kept = floats(f_.scratch(), plan_.outputs_at);
    transform_tile(
        f_, form_.output,
        [&](size_t row, size_t column) {
          Value* product = f_.i64(static_cast<int64_t>(row) * form_.side() + static_cast<int64_t>(column));
          return load(floats(sums_of(product, tile), v * plan_.lanes));
        },
        [&](size_t row, size_t column, Value* y) {
          store(y, floats(kept, (static_cast<int64_t>(row) * form_.tile + static_cast<int64_t>(column)) * plan_.lanes));
        });
    const TileAt at = place_of(task, tile);
    Value* rows = min(f_.i64(form_.tile), sub(f_.dim(conv_.out_height), at.row));
    Value* columns = min(f_.i64(form_.tile), sub(f_.dim(conv_.out_width), at.column));
    f_.for_loop(f_.i64(0), rows, f_.i64(1), [&](Value* row) {
      const auto store_pixels = [&](Value* first, int64_t pixels) {
        TileResult result{task.image,
                          add(mul(group, plan_.group_blocks), v * plan_.lanes / block),
                          nullptr,
                          add(at.row, row),
                          add(at.column, first),
                          {{1, {}}, {pixels, {}}},
                          f_.i64(v * plan_.lanes % block),
                          {}};
        Value* from = floats(kept, mul(add(mul(row, form_.tile), first), plan_.lanes));
        for (int64_t p = 0; p < pixels; ++p) result.sums.push_back(load(floats(from, p * plan_.lanes)));
        epilogue_.store(result);
      };
      if (is_multiple(conv_.out_width, form_.tile)) return store_pixels(f_.i64(0), form_.tile);
      f_.if_else(
          f_.ir().CreateICmpEQ(columns, f_.i64(form_.tile)),
          [&] { return store_pixels(f_.i64(0), form_.tile), Values{}; },
          [&] {
            f_.for_loop(f_.i64(0), columns, f_.i64(1), [&](Value* column) { store_pixels(column, 1); });
            return Values{};
          });
    });
  }

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const WinogradForm& form_;
  const ConvPacking packing_;
  const WinogradPlan plan_;
  const ConvKernel product_;
  const ConvPlan tiles_;
  ConvLayout layout_;  // of transformed inputs
  const ConvLayout image_layout_;
  ConvEpilogue epilogue_;
};

}  // namespace

KernelEmission emit_winograd_conv(FunctionBuilder& f, const ConvKernel& conv) {
  return WinogradEmitter(f, conv).emit();
}

}  // namespace gcg::cpu
