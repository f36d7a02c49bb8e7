#include "codegen/cpu/contractions/conv_widen.h"

namespace gcg::cpu {
namespace {

constexpr int64_t block = 16, byte_words = 4, pairs = 8;  // words of a block of channels

}  // namespace

ConvWidening::ConvWidening(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan)
    : f_(f), conv_(conv), plan_(plan) {
  if (!plan.widens()) return;
  for (llvm::AllocaInst** v : {&image_, &first_, &last_, &group_}) *v = f.variable(DType::i64);
  for (llvm::AllocaInst* v : {image_, group_}) f.ir().CreateStore(f.i64(-1), v);
}

llvm::Value* ConvWidening::word(Value* base, Value* offset) { return f_.element_address(base, DType::i32, offset); }

ValueRange ConvWidening::pixels(ValueRange rows, ValueRange tiles) {
  llvm::IRBuilder<>& ir = f_.ir();
  if (plan_.flat && plan_.tiles_per_task > 0)  // a tile may have one pixel fewer than tile_pixels
    return {times(f_, tiles.begin, plan_.tile_pixels - 1), times(f_, tiles.end, plan_.tile_pixels)};
  if (plan_.flat || !plan_.row_tiles.empty()) return {f_.i64(0), f_.dim(conv_.in_height * conv_.in_width)};
  const auto row = [&](Value* of_output, int64_t beyond) {
    Value* first = ir.CreateSub(times(f_, of_output, conv_.stride_h), f_.i64(conv_.pad_top - beyond));
    return ir.CreateMul(first, f_.dim(conv_.in_width));
  };
  return {row(rows.begin, 0), row(ir.CreateSub(rows.end, f_.i64(1)), (conv_.kernel_h - 1) * conv_.dilation_h + 1)};
}

llvm::Value* ConvWidening::image(Value* number, ValueRange pixels) {
  llvm::IRBuilder<>& ir = f_.ir();
  const auto read = [&](llvm::AllocaInst* v) { return ir.CreateLoad(ir.getInt64Ty(), v); };
  const auto min = [&](Value* a, Value* b) { return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); };
  const auto max = [&](Value* a, Value* b) { return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b); };
  Value* all = f_.dim(conv_.in_height * conv_.in_width);
  Value* begin = min(max(pixels.begin, f_.i64(0)), all);
  Value* end = max(min(pixels.end, all), begin);
  f_.if_then(ir.CreateICmpNE(read(image_), number), [&] {
    ir.CreateStore(number, image_);
    for (llvm::AllocaInst* v : {first_, last_}) ir.CreateStore(begin, v);
  });
  // The converted range stays contiguous, so pixels between it and the requested ones are converted, too.
  f_.if_then(ir.CreateICmpSLT(begin, read(first_)), [&] {
    widen_pixels(number, begin, read(first_));
    ir.CreateStore(begin, first_);
  });
  f_.if_then(ir.CreateICmpSGT(end, read(last_)), [&] {
    widen_pixels(number, read(last_), end);
    ir.CreateStore(end, last_);
  });
  return f_.scratch();
}

void ConvWidening::widen_pixels(Value* number, Value* begin, Value* end) {
  llvm::IRBuilder<>& ir = f_.ir();
  const bool halves = plan_.multiply == Multiply::halves;
  const int64_t blocks = blocks_of(conv_.in_channels, block), words = halves ? block : byte_words;
  const Dim plane = conv_.in_width * conv_.in_height;
  const auto all = [&](Value* first_block, Value* last_block, int64_t channels) {
    Value* first = ir.CreateMul(number, f_.dim(plane * conv_.in_depth * Dim(blocks)));
    Value* depth = f_.dim(conv_.in_depth);
    f_.for_loop(ir.CreateMul(first_block, depth), ir.CreateMul(last_block, depth), f_.i64(1), [&](Value* p) {
      Value* start = ir.CreateMul(p, f_.dim(plane));
      Value* from = word(f_.operand(conv_.input), ir.CreateMul(ir.CreateAdd(first, start), f_.i64(words)));
      Value* to = word(f_.scratch(), ir.CreateMul(start, f_.i64(pairs)));
      f_.for_loop(begin, end, f_.i64(1), [&](Value* pixel) {
        halves ? narrow_pixel(from, to, pixel, channels) : widen_pixel(from, to, pixel);
      });
    });
  };
  // Lanes past the last channel may hold anything, and a float times zero is not always zero.
  const int64_t rest = halves ? conv_.in_channels % block : 0;
  all(f_.i64(0), f_.i64(rest > 0 ? blocks - 1 : blocks), block);
  if (rest > 0) all(f_.i64(blocks - 1), f_.i64(blocks), rest);
}

void ConvWidening::widen_pixel(Value* from, Value* to, Value* pixel) {
  llvm::IRBuilder<>& ir = f_.ir();
  auto* words = llvm::FixedVectorType::get(ir.getInt32Ty(), byte_words);
  DotProduct dot(ir, Multiply::widened_bytes);
  Value* bytes = ir.CreateAlignedLoad(words, word(from, ir.CreateMul(pixel, f_.i64(byte_words))), llvm::Align(1));
  Value* wide = ir.CreateShuffleVector(dot.left(bytes, 0), dot.left(bytes, 1), {0, 4, 1, 5, 2, 6, 3, 7});
  ir.CreateAlignedStore(wide, word(to, ir.CreateMul(pixel, f_.i64(pairs))), llvm::Align(16));
}

void ConvWidening::narrow_pixel(Value* from, Value* to, Value* pixel, int64_t channels) {
  llvm::IRBuilder<>& ir = f_.ir();
  Value* mask = channels < block ? f_.first_lanes(f_.i64(channels), block) : nullptr;
  Value* floats = f_.load(from, DType::f32, ir.CreateMul(pixel, f_.i64(block)), block, mask);
  ir.CreateAlignedStore(narrowed(ir, floats), word(to, ir.CreateMul(pixel, f_.i64(pairs))), llvm::Align(32));
}

llvm::Value* ConvWidening::panel(Value* group, Value* panel) {
  llvm::IRBuilder<>& ir = f_.ir();
  Value* to = word(f_.scratch(), f_.i64(plan_.widened_image));
  f_.if_then(ir.CreateICmpNE(ir.CreateLoad(ir.getInt64Ty(), group_), group), [&] {
    ir.CreateStore(group, group_);
    f_.for_loop(f_.i64(0), f_.i64(conv_.packing().units() * conv_.taps()), f_.i64(1), [&](Value* step) {
      Value* to_step = word(to, ir.CreateMul(step, f_.i64(pairs * plan_.vectors * plan_.lanes)));
      plan_.multiply == Multiply::halves ? interleave_step(panel, to_step, step) : widen_step(panel, to_step, step);
    });
  });
  return to;
}

void ConvWidening::widen_step(Value* panel, Value* to, Value* step) {
  DotProduct dot(f_.ir(), Multiply::widened_bytes);
  const int64_t columns = plan_.vectors * plan_.lanes, from_columns = conv_.packing().columns();
  Value* from = word(panel, f_.ir().CreateMul(step, f_.i64(byte_words * from_columns)));
  for (int64_t q = 0; q < byte_words; ++q)
    for (int64_t v = 0; v < plan_.vectors; ++v) {
      Value* w = f_.load(from, DType::i32, f_.i64(q * from_columns + v * plan_.lanes), static_cast<int>(plan_.lanes));
      for (int part = 0; part < 2; ++part)
        f_.store(dot.right(w, part), to, DType::i32, f_.i64((2 * q + part) * columns + v * plan_.lanes));
    }
}

void ConvWidening::interleave_step(Value* panel, Value* to, Value* step) {
  const int64_t columns = plan_.vectors * plan_.lanes, from_columns = conv_.packing().columns();
  Value* from = f_.element_address(panel, DType::bf16, f_.ir().CreateMul(step, f_.i64(block * from_columns)));
  const auto row = [&](int64_t channel, int64_t v) {
    return f_.load(from, DType::bf16, f_.i64(channel * from_columns + v * plan_.lanes), static_cast<int>(plan_.lanes));
  };
  for (int64_t p = 0; p < pairs; ++p)
    for (int64_t v = 0; v < plan_.vectors; ++v)
      f_.store(interleaved_pairs(f_.ir(), row(2 * p, v), row(2 * p + 1, v)), to, DType::f32,
               f_.i64(p * columns + v * plan_.lanes));
}

}  // namespace gcg::cpu
