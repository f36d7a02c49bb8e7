// A convolution kernel by Winograd's algorithm: transform inputs, multiply, transform sums, store (winograd_plan.h).
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

/// One of the algorithm's matrix products, as a pointwise convolution whose pixels are tiles.
ConvKernel pointwise(const ConvKernel& conv, int64_t products) {
  ConvKernel k = conv;
  k.kernel_h = products;  // the packed weights hold all products, of which a call computes one
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
        variant_(winograd_variant(conv.winograd)),
        packing_(conv.packing()),
        plan_(plan_winograd(conv, f.target())),
        product_(pointwise(conv, variant_.products())),
        tiles_(register_tiles(plan_)),
        layout_(conv_layout(f, product_, tiles_)),
        image_layout_(conv_layout(f, conv, tiles_)),
        epilogue_(f, conv, tiles_) {
    layout_.block = f.i64(variant_.products() * plan_.padded_tiles * block);
  }

  KernelEmission emit() {
    f_.for_loop(f_.task_begin(), f_.task_end(), f_.i64(1), [&](Value* task) { emit_task(task); });
    return {plan_.tasks, Dim(plan_.scratch * 4),
            concat("winograd ", variant_.tile, "x", variant_.tile, ", ", plan_.tiles, " tiles, ", plan_.tile_pixels,
                   "x", plan_.vectors, " register tiles")};
  }

 private:
  struct Task {
    Value* image = nullptr;
    Value* first_tile = nullptr;
    Value* tiles = nullptr;
  };
  /// The start of a tile's outputs.
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

  Value* take(Value*& remaining, const Dim& extent) {
    Value* size = f_.dim(extent);
    Value* quotient = f_.ir().CreateUDiv(remaining, size);
    Value* index = sub(remaining, mul(quotient, size));
    remaining = quotient;
    return index;
  }

  void emit_task(Value* number) {
    Task task;
    Value* remaining = number;
    task.first_tile = mul(take(remaining, plan_.tile_blocks), plan_.tiles);
    Value* first_group = mul(take(remaining, plan_.group_tasks), plan_.groups_per_task);
    task.image = remaining;
    task.tiles = min(f_.i64(plan_.tiles), sub(f_.dim(plan_.tile_count), task.first_tile));
    f_.for_loop(f_.i64(0), task.tiles, f_.i64(1), [&](Value* tile) { transform_inputs(task, tile); });
    f_.for_loop(task.tiles, slots_of(task.tiles), f_.i64(1), [&](Value* tile) { clear_inputs(tile); });
    Value* end = min(add(first_group, plan_.groups_per_task), f_.i64(plan_.groups));
    f_.for_loop(first_group, end, f_.i64(1), [&](Value* group) { emit_group(task, group); });
  }

  TileAt place_of(const Task& task, Value* tile) {
    Value* number = add(task.first_tile, tile);
    Value* columns = f_.dim(plan_.tile_columns);
    Value* row = f_.ir().CreateUDiv(number, columns);
    return {mul(row, variant_.tile), mul(sub(number, mul(row, columns)), variant_.tile)};
  }

  // ---- inputs

  void transform_inputs(const Task& task, Value* tile) {
    const TileAt at = place_of(task, tile);
    f_.ir().CreateCall(
        input_transform(f_, variant_, plan_.lanes),
        {floats(f_.operand(conv_.input), mul(task.image, image_layout_.image)), floats(f_.scratch(), mul(tile, block)),
         sub(at.row, f_.i64(conv_.pad_top)), sub(at.column, f_.i64(conv_.pad_left)), f_.dim(conv_.in_height),
         f_.dim(conv_.in_width), f_.i64(packing_.units()), image_layout_.block, layout_.block,
         f_.i64(plan_.padded_tiles * block)});
  }

  /// Clears places of the last register tile that have no tile of the image, because old data there would be
  /// multiplied, too. On some CPUs subnormal numbers would make that a hundred times as slow.
  void clear_inputs(Value* tile) {
    Value* zero = llvm::Constant::getNullValue(f_.type(DType::f32, static_cast<int>(plan_.lanes)));
    f_.for_loop(f_.i64(0), f_.i64(packing_.units()), f_.i64(1), [&](Value* unit) {
      f_.for_loop(f_.i64(0), f_.i64(variant_.products()), f_.i64(1), [&](Value* product) {
        Value* place = mul(add(mul(product, plan_.padded_tiles), tile), block);
        Value* to = floats(floats(f_.scratch(), mul(unit, layout_.block)), place);
        for (int64_t lane = 0; lane < block; lane += plan_.lanes) store_vector(f_, zero, floats(to, lane));
      });
    });
  }

  // ---- products and outputs

  /// The number of tiles that register tiles of the largest size cover.
  Value* whole_tiles(Value* tiles) {
    const int64_t most = plan_.tile_pixels, last = plan_.last_pixels();
    return last < most ? mul(f_.ir().CreateUDiv(add(tiles, most - last - 1), f_.i64(most)), most)
                       : round_up(tiles, most);
  }
  Value* slots_of(Value* tiles) {
    Value* whole_tile_count = whole_tiles(tiles);
    if (plan_.last_pixels() == plan_.tile_pixels) return whole_tile_count;
    Value* remaining = f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smax, sub(tiles, whole_tile_count), f_.i64(0));
    return add(whole_tile_count, round_up(remaining, plan_.last_pixels()));
  }
  Value* round_up(Value* n, int64_t multiple) {
    return mul(f_.ir().CreateUDiv(add(n, multiple - 1), f_.i64(multiple)), multiple);
  }

  void emit_group(const Task& task, Value* group) {
    Value* vectors = f_.i64(plan_.vectors);
    if (plan_.last_vectors == plan_.vectors) {
      multiply(task, group, plan_.vectors);
    } else {
      Value* whole_tile_count = f_.ir().CreateICmpSLT(group, f_.i64(plan_.groups - 1));
      vectors = f_.ir().CreateSelect(whole_tile_count, vectors, f_.i64(plan_.last_vectors));
      f_.if_else(
          whole_tile_count, [&] { return multiply(task, group, plan_.vectors), Values{}; },
          [&] { return multiply(task, group, plan_.last_vectors), Values{}; });
    }
    f_.for_loop(f_.i64(0), task.tiles, f_.i64(1), [&](Value* tile) {
      f_.for_loop(f_.i64(0), vectors, f_.i64(1), [&](Value* v) { transform_sums(task, group, tile, v); });
    });
  }

  Value* panel(Value* group) {
    const int64_t elements = packing_.panel_elements(variant_.products());
    if (plan_.group_blocks * block == packing_.columns()) return mul(group, elements);
    Value* odd = f_.ir().CreateAnd(group, f_.i64(1));
    return add(mul(f_.ir().CreateLShr(group, f_.i64(1)), elements), mul(odd, block));
  }

  int64_t sums_row() const { return plan_.vectors * plan_.lanes; }

  void multiply(const Task& task, Value* group, int64_t vectors) {
    f_.ir().CreateCall(products(vectors), {f_.scratch(), floats(f_.operand(conv_.weights), panel(group)),
                                           floats(f_.scratch(), plan_.sums_at), task.tiles, f_.i64(packing_.units()),
                                           f_.i64(plan_.padded_tiles)});
  }

  /// void products(const float* inputs, const float* weights, float* sums, int64_t tiles, int64_t units, int64_t
  /// padded_tiles): all products of the tiles, for the vectors of one panel.
  llvm::Function* products(int64_t vectors) {
    const int64_t channels =
        packing_.inputs % block == 0 ? 0 : packing_.inputs;  // the number of channels, if they are not whole blocks
    const std::string name = concat("winograd_products_", variant_.tile, "_", plan_.tile_pixels, "x", vectors, "of",
                                    plan_.vectors, "x", plan_.lanes, "_", packing_.columns(), "_", channels);
    llvm::Type *pointer = f_.ir().getPtrTy(), *number = f_.ir().getInt64Ty();
    return f_.shared_function(name, {pointer, pointer, pointer, number, number, number}, [&](llvm::Function& function) {
      function.addParamAttr(2, llvm::Attribute::NoAlias);
      f_.for_loop(f_.i64(0), f_.i64(variant_.products()), f_.i64(1),
                  [&](Value* product) { register_tiles_of(function, product, vectors); });
      f_.ir().CreateRetVoid();
    });
  }

  void register_tiles_of(llvm::Function& function, Value* product, int64_t vectors) {
    Value *tiles = function.getArg(3), *padded_tiles = function.getArg(5);
    ConvLayout layout = layout_;
    layout.block = mul(padded_tiles, variant_.products() * block);
    layout.image = layout.plane = layout.row = f_.i64(0);  // a product has one plane with one row
    TilePosition place;
    place.kd = place.units = {f_.i64(0), f_.i64(1)};
    place.units.end = function.getArg(4);
    place.kh = place.kd;
    place.weights = floats(function.getArg(1), mul(product, block * packing_.columns()));
    Value* first = mul(product, padded_tiles);
    const auto multiply_pixels = [&](Value* tile, int64_t pixels) {
      const TileShape shape{{1, {}}, {pixels, {{0, 1, 0, pixels}}}};
      Value* row = add(first, tile);
      TilePosition here = place;
      here.input = floats(function.getArg(0), mul(row, block));
      const Values sums = reduce_dense(f_, product_, tiles_, layout, shape, vectors, here);
      Value* to = floats(function.getArg(2), mul(row, sums_row()));
      for (int64_t p = 0; p < pixels; ++p)
        for (int64_t v = 0; v < vectors; ++v)
          store_vector(f_, sums[static_cast<size_t>(p * vectors + v)], floats(to, p * sums_row() + v * plan_.lanes));
    };
    const int64_t most = plan_.tile_pixels, last = plan_.last_pixels();
    Value* whole_tile_count = last < most ? whole_tiles(tiles) : tiles;
    f_.for_loop(f_.i64(0), whole_tile_count, f_.i64(most), [&](Value* tile) { multiply_pixels(tile, most); });
    if (last < most)
      f_.for_loop(whole_tile_count, tiles, f_.i64(last), [&](Value* tile) { multiply_pixels(tile, last); });
  }

  /// Stores vector `v` of the tile's outputs, through scratch memory: the epilogue is emitted once per row, not once
  /// per output.
  void transform_sums(const Task& task, Value* group, Value* tile, Value* v) {
    Value* outputs = floats(f_.scratch(), plan_.outputs_at);
    Value* sums = floats(f_.scratch(), add(add(mul(tile, sums_row()), mul(v, plan_.lanes)), plan_.sums_at));
    f_.ir().CreateCall(output_transform(f_, variant_, plan_.lanes),
                       {sums, f_.i64(plan_.padded_tiles * sums_row()), outputs});
    const TileAt at = place_of(task, tile);
    Value* rows = min(f_.i64(variant_.tile), sub(f_.dim(conv_.out_height), at.row));
    Value* columns = min(f_.i64(variant_.tile), sub(f_.dim(conv_.out_width), at.column));
    Value* channel = mul(v, plan_.lanes);  // of the group
    f_.for_loop(f_.i64(0), rows, f_.i64(1), [&](Value* row) {
      const auto store_pixels = [&](Value* first, int64_t pixels) {
        TileResult result{task.image,
                          add(mul(group, plan_.group_blocks), f_.ir().CreateUDiv(channel, f_.i64(block))),
                          nullptr,
                          add(at.row, row),
                          add(at.column, first),
                          {{1, {}}, {pixels, {}}},
                          plan_.lanes == block ? f_.i64(0) : f_.ir().CreateURem(channel, f_.i64(block)),
                          {}};
        Value* from = floats(outputs, mul(add(mul(row, variant_.tile), first), plan_.lanes));
        for (int64_t p = 0; p < pixels; ++p)
          result.sums.push_back(load_vector(f_, floats(from, p * plan_.lanes), plan_.lanes));
        epilogue_.store(result);
      };
      if (is_multiple(conv_.out_width, variant_.tile)) return store_pixels(f_.i64(0), variant_.tile);
      f_.if_else(
          f_.ir().CreateICmpEQ(columns, f_.i64(variant_.tile)),
          [&] { return store_pixels(f_.i64(0), variant_.tile), Values{}; },
          [&] {
            f_.for_loop(f_.i64(0), columns, f_.i64(1), [&](Value* column) { store_pixels(column, 1); });
            return Values{};
          });
    });
  }

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const WinogradVariant& variant_;
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
