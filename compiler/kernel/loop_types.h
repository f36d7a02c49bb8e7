// The type of the arithmetic of loops and programs.
#pragma once

#include "compiler/kernel/kernel.h"

namespace gcg {

/// "f64" or "f32" if the kernel has operands of floats, otherwise "integers". 16-bit and 8-bit floats are only stored:
/// all arithmetic is f32.
inline const char* arithmetic_of_loops(const Kernel& kernel) {
  bool has_floats = false;
  for (const Operand& operand : kernel.operands) {
    if (operand.dtype == DType::f64) return "f64";
    has_floats = has_floats || is_float(operand.dtype);
  }
  return has_floats ? "f32" : "integers";
}

}  // namespace gcg
