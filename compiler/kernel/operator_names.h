// Names of the operators of expressions, spelled as in the enumerations: "round_even".
#pragma once

#include <array>

#include "compiler/kernel/expr.h"

namespace gcg {

inline constexpr std::array kUnaryNames = {
    "neg",         "abs",     "sqrt",   "rsqrt",  "exp",   "log",  "erf",        "tanh",
    "sigmoid",     "sin",     "cos",    "tan",    "asin",  "acos", "atan",       "sinh",
    "cosh",        "asinh",   "acosh",  "atanh",  "floor", "ceil", "round_even", "reciprocal",
    "logical_not", "bit_not", "is_nan", "is_inf", "sign",  "bits", "of_bits"};
static_assert(kUnaryNames.size() == static_cast<size_t>(UnaryOp::of_bits) + 1);

inline constexpr std::array kBinaryNames = {
    "add",     "sub",           "mul",         "div",          "floor_div",   "mod",     "fmod",
    "pow",     "max",           "min",         "equal",        "not_equal",   "less",    "less_equal",
    "greater", "greater_equal", "logical_and", "logical_or",   "logical_xor", "bit_and", "bit_or",
    "bit_xor", "shift_left",    "shift_right", "checked_index"};
static_assert(kBinaryNames.size() == static_cast<size_t>(BinaryOp::checked_index) + 1);

constexpr const char* name_of(UnaryOp op) { return kUnaryNames[static_cast<size_t>(op)]; }
constexpr const char* name_of(BinaryOp op) { return kBinaryNames[static_cast<size_t>(op)]; }

}  // namespace gcg
