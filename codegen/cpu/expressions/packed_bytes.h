// Converts floats to bytes by instructions that pack two registers into one and saturate.
#pragma once

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Rounds a register of f32 to i32, ties to even. NaN and values that no i32 holds give the least i32. x86 only.
llvm::Value* emit_nearest(FunctionBuilder& f, llvm::Value* x);

/// True if `lanes` floats become one register of bytes in few instructions.
bool packs_bytes(const CpuTarget& target, int lanes);
/// x rounded (ties to even) plus `zero`, an i16, clamped to the range of an 8-bit type. NaN gives the lowest value.
/// Requires packs_bytes, and x less than 2^31.
llvm::Value* emit_packed_bytes(FunctionBuilder& f, llvm::Value* x, llvm::Value* zero, DType dtype);

}  // namespace gcg::cpu
