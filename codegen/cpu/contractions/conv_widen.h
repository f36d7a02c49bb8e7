// Converts the operands of a convolution of bytes to pairs of 16-bit integers, in a thread's scratch memory. VPMADDWD
// takes pairs directly, so that a step is a multiplication and an addition, as with floats.
//
// Scratch memory holds the image, [channel block][plane][row][column][8 pairs], then the weights of one group of output
// channels, [unit][tap][8 pairs][columns]. The pairs of sixteen channels are (0, 2), (4, 6), (8, 10), (12, 14), (1, 3),
// ...: the result of masking and shifting words of four bytes.
#pragma once

#include "codegen/cpu/contractions/conv_tile.h"

namespace gcg::cpu {

class ConvWidening {
 public:
  /// Does nothing if the plan does not widen.
  ConvWidening(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan);

  /// The pixels of an input plane that row steps `rows` and tiles `tiles` of the plan read. The range may be larger,
  /// and may extend beyond the plane.
  ValueRange pixels(ValueRange rows, ValueRange tiles);
  /// Converts pixels [begin, end) of all planes of an image, where they exist, and returns the image's address. Keeps
  /// the pixels of the same image that earlier tasks of the thread converted.
  llvm::Value* image(llvm::Value* number, ValueRange pixels);
  /// Converts the weights of a group, whose words in the file begin at `panel`, and returns their address.
  llvm::Value* panel(llvm::Value* group, llvm::Value* panel);

 private:
  using Value = llvm::Value;

  Value* word(Value* base, Value* offset);
  void widen_pixels(Value* number, Value* begin, Value* end);
  void widen_pixel(Value* from, Value* to, Value* pixel);
  void narrow_pixel(Value* from, Value* to, Value* pixel, int64_t channels);
  /// Converts block number `step` of the panel's channels from its layout in the file to the layout that is multiplied.
  void widen_step(Value* panel, Value* to, Value* step);
  void interleave_step(Value* panel, Value* to, Value* step);

  FunctionBuilder& f_;
  const ConvKernel& conv_;
  const ConvPlan& plan_;
  llvm::AllocaInst *image_ = nullptr, *first_ = nullptr,
                   *last_ = nullptr;  // the number of the image, and the range of its converted pixels
  llvm::AllocaInst* group_ = nullptr;
};

}  // namespace gcg::cpu
