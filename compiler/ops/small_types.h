// Elements of 8 bits and fewer that are only stored, in expressions: the bits to a number and back.
#pragma once

#include "compiler/kernel/expr.h"

namespace gcg {

/// The number that an element as loaded (storage_dtype) stands for: f32 for small floats, i32 for small integers, of
/// which only the low bits count; other types as they are.
Expr small_value(DType dtype, const Expr& stored);
/// A number of any type as the element to be stored. Integers keep their low bits; see small_float_bits for floats.
Expr small_element(DType dtype, const Expr& value, bool saturate);

}  // namespace gcg
