// Convolutions through AMX's tiles (tile_kernel.h).
//
// A task is a place, some pixels of an image's output, by some groups of 32 output channels. What each pixel reads is
// laid side by side in scratch memory, [pixel][unit][tap][16 channels], as the weights are in the file, zeros where a
// tap is outside: then pixels are rows of A, a group's panel is B, and their product is that of two matrices. Bytes are
// copied from where they lie; floats are narrowed to bf16 once per thread, and panels interleaved to pairs, as
// conv_widen does for vectors.
#pragma once

#include "codegen/cpu/contractions/conv_plan.h"
#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Of two dimensions, one group, and pixels enough to fill tiles. `plan`: that of vectors.
bool is_tiled(const ConvKernel& conv, const CpuTarget& target, const ConvPlan& plan);

/// Requires is_tiled.
KernelEmission emit_tiled_conv(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan);

}  // namespace gcg::cpu
