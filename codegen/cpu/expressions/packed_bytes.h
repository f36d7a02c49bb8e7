// Floats to bytes by instructions that pack two registers into one and saturate.
#pragma once

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// A register of f32 rounded to i32, to even at ties; of NaN and of what no i32 is the least. Of an x86.
llvm::Value* emit_nearest(FunctionBuilder& f, llvm::Value* x);

/// Do so many floats become one register of bytes, in few instructions?
bool packs_bytes(const CpuTarget& target, int lanes);
/// x rounded, to even at ties, plus `zero`, an i16, kept between the ends of an 8-bit type; of NaN the lowest. x is
/// less than 2^31. Requires packs_bytes.
llvm::Value* emit_packed_bytes(FunctionBuilder& f, llvm::Value* x, llvm::Value* zero, DType dtype);

}  // namespace gcg::cpu
