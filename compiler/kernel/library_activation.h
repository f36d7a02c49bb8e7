// Activations that libraries know by name. Operator lowering and the recognition of epilogues use the same definition
// of each.
#pragma once

#include "compiler/kernel/expr.h"
#include "compiler/kernel/library_call.h"

namespace gcg {

/// max(x, 0), for any numeric type.
Expr relu(const Expr& x);
/// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), for floats.
Expr gelu_tanh(const Expr& x);

struct ActivatedExpr {
  LibraryActivation function = LibraryActivation::none;
  Expr argument;
};

/// Recognises the f32 value `e` as function(argument); otherwise returns `none` and `e` itself.
ActivatedExpr activation_of(const Expr& e);

}  // namespace gcg
