// A convolution kernel by Winograd's algorithm.
#pragma once

#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Requires conv.winograd > 0.
KernelEmission emit_winograd_conv(FunctionBuilder& f, const ConvKernel& conv);

}  // namespace gcg::cpu
