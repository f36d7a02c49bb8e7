// The text of operators on values that already have a text. Values and results have type_of(their dtype).
#pragma once

#include <string>

#include "compiler/kernel/expr.h"

namespace gcg::cuda {

std::string constant_text(const ExprNode& constant);
/// `approximates`: uses functions of device/gart_fast_math.cuh where they exist.
std::string unary_text(UnaryOp op, DType dtype, const std::string& a, bool approximates = false);
/// `dtype`: the operands' type. `exponent`: the exponent of a power, if it is a constant.
std::string binary_text(BinaryOp op, DType dtype, const std::string& a, const std::string& b, const ExprNode* exponent);
std::string cast_text(DType from, DType to, const std::string& a);
/// One step of a reduction.
std::string combine_text(ReduceOp op, DType dtype, const std::string& a, const std::string& b);
/// The functor of device/gart_group.cuh.
std::string combine_functor(ReduceOp op);
/// "<", "==", ...; empty for other operators.
std::string comparison_sign(BinaryOp op);

}  // namespace gcg::cuda
