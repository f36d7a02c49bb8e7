// Converts elements of 8 bits and fewer, which have no arithmetic, between their bits and numbers, in expressions.
#pragma once

#include "compiler/kernel/expr.h"

namespace gcg {

/// The number that a loaded element (storage_dtype) represents: f32 for small floats, i32 for small integers, of which
/// only the low bits count. Other types are unchanged.
Expr small_value(DType dtype, const Expr& stored);
/// The stored element for a number of any type. Integers keep their low bits; for floats see small_float_bits.
Expr small_element(DType dtype, const Expr& value, bool saturate);

}  // namespace gcg
