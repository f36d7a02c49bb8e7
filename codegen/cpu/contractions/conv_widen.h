// Operands of a convolution of bytes as pairs of 16-bit integers, in a thread's scratch memory: VPMADDWD then takes
// them as they are, so that a step is a multiplication and an addition, as with floats.
//
// In scratch memory lie the image, [channel block][plane][row][column][8 pairs], then the weights of one group of
// output channels, [unit][tap][8 pairs][columns]. Of sixteen channels the pairs are (0, 2), (4, 6), (8, 10), (12, 14),
// (1, 3), ...: what masking and shifting words of four bytes gives.
#pragma once

#include "codegen/cpu/contractions/conv_tile.h"

namespace gcg::cpu {

class ConvWidening {
 public:
  /// Makes nothing where the plan does not widen.
  ConvWidening(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan);

  /// Pixels of an input plane that row steps `rows` and tiles `tiles` of the plan read; may be more, and lie outside.
  ValueRange pixels(ValueRange rows, ValueRange tiles);
  /// Makes pixels [begin, end) of all planes of an image, as far as there are such, and returns its address. What
  /// earlier tasks of the thread made of the same image is kept.
  llvm::Value* image(llvm::Value* number, ValueRange pixels);
  /// Makes the weights of a group, whose words in the file begin at `panel`, and returns their address.
  llvm::Value* panel(llvm::Value* group, llvm::Value* panel);

 private:
  using Value = llvm::Value;

  Value* word(Value* base, Value* offset);
  void widen_pixels(Value* number, Value* begin, Value* end);
  void widen_pixel(Value* from, Value* to, Value* pixel);
  void narrow_pixel(Value* from, Value* to, Value* pixel, int64_t channels);
  /// A block of channels of the panel: as it is in the file, number `step`, and as it is multiplied.
  void widen_step(Value* panel, Value* to, Value* step);
  void interleave_step(Value* panel, Value* to, Value* step);

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPlan& plan_;
  llvm::AllocaInst *image_ = nullptr, *first_ = nullptr,
                   *last_ = nullptr;  // the image's number, and the pixels of it that are made
  llvm::AllocaInst* group_ = nullptr;
};

}  // namespace gcg::cpu
