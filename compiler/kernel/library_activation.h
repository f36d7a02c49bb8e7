// Activations that libraries know by name. One definition each, by which operators are lowered and epilogues
// recognised.
#pragma once

#include "compiler/kernel/expr.h"
#include "compiler/kernel/library_call.h"

namespace gcg {

/// max(x, 0), of any numbers.
Expr relu(const Expr& x);
/// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), of floats.
Expr gelu_tanh(const Expr& x);

struct Activated {
  LibraryActivation function = LibraryActivation::none;
  Expr argument;
};

/// The f32 value `e` as function(argument); as itself where it is no such thing.
Activated activation_of(const Expr& e);

}  // namespace gcg
