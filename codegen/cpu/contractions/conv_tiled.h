// Convolutions through AMX's tiles (tile_kernel.h).
//
// A task is a range (some pixels of an image's output) by some groups of 32 output channels. The data that each pixel
// reads is laid out contiguously in scratch memory, with zeros where a tap is outside. The layout is
// [pixel][unit][tap][16 channels], the order of the weights in the file. Then pixels are rows of A, a group's panel is
// B, and the result is a matrix product. Bytes are copied from the input. Floats are narrowed to bf16 once per thread,
// and panels are interleaved to pairs, as conv_widen does for vectors.
#pragma once

#include "codegen/cpu/contractions/conv_plan.h"
#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// True for 2-D convolutions of one group with enough pixels to fill tiles. `plan`: the plan for vectors.
bool is_tiled(const ConvKernel& conv, const CpuTarget& target, const ConvPlan& plan);

/// Requires is_tiled.
KernelEmission emit_tiled_conv(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan);

}  // namespace gcg::cpu
