// Elementary functions of scalars and vectors of any width, as straight-line code: of f32 or f64 unless a comment says
// otherwise. tests/codegen states their errors.
#pragma once

#include <cstdint>
#include <functional>

#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// exp(x): results too small or too large become 0 and inf; NaN gives NaN. In f32 without AVX-512, results below 2^-125
/// are 0.
llvm::Value* emit_exp(FunctionBuilder& f, llvm::Value* x);
/// log(x): -inf for 0, NaN for negative x; denormal numbers are exact.
llvm::Value* emit_log(FunctionBuilder& f, llvm::Value* x);
/// f32 alone.
llvm::Value* emit_erf(FunctionBuilder& f, llvm::Value* x);
llvm::Value* emit_tanh(FunctionBuilder& f, llvm::Value* x);
/// 1 / (1 + exp(-x)); in f32, results below the normal numbers become zero.
llvm::Value* emit_sigmoid(FunctionBuilder& f, llvm::Value* x);
enum class Angle : uint8_t { sine, cosine, tangent };
/// `exact` emits the function for vectors with an angle beyond 2^17 (f64: 2^25), which the polynomial's range reduction
/// does not reach.
llvm::Value* emit_angle_function(FunctionBuilder& f, Angle which, llvm::Value* x,
                                 const std::function<llvm::Value*()>& exact);
/// The inverses, and pow, are for f32 alone.
llvm::Value* emit_atan(FunctionBuilder& f, llvm::Value* x);
llvm::Value* emit_asin(FunctionBuilder& f, llvm::Value* x);
llvm::Value* emit_acos(FunctionBuilder& f, llvm::Value* x);
/// x^y as C's pow computes it, also for negative numbers, zeros, infinities and NaN. (vector_power.cpp)
llvm::Value* emit_pow(FunctionBuilder& f, llvm::Value* x, llvm::Value* y);
/// C's fmod of floats or doubles. `exact` emits it for vectors with a quotient of 2^52 and more. (vector_remainder.cpp)
llvm::Value* emit_remainder(FunctionBuilder& f, llvm::Value* a, llvm::Value* b,
                            const std::function<llvm::Value*()>& exact);
/// a * b + c with one rounding.
llvm::Value* emit_fma(FunctionBuilder& f, llvm::Value* a, llvm::Value* b, llvm::Value* c);

}  // namespace gcg::cpu
