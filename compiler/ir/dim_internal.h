// Shared by the files that implement Dim; nobody else includes this.
#pragma once

#include <functional>
#include <optional>

#include "compiler/ir/dim.h"

namespace gcg::dim_internal {

// Checked 64-bit arithmetic: overflow and division by zero are a CompileError.
int64_t add(int64_t a, int64_t b);
int64_t multiply(int64_t a, int64_t b);
int64_t floor_divide(int64_t a, int64_t b);  ///< rounds towards minus infinity
int64_t modulo(int64_t a, int64_t b);        ///< has the sign of b

Dim::Monomial multiply(const Dim::Monomial& a, const Dim::Monomial& b);
/// a / b, or nullopt if b does not divide a.
std::optional<Dim::Monomial> divide(const Dim::Monomial& a, const Dim::Monomial& b);
/// The largest monomial that divides both.
Dim::Monomial common_factor(const Dim::Monomial& a, const Dim::Monomial& b);
Dim monomial(const Dim::Monomial& atoms, int64_t coefficient);

/// The atom if `d` is exactly one atom with coefficient 1; else null.
Dim::AtomRef sole_atom(const Dim& d);
/// `d` with every atom (outermost ones only) replaced by what `atom_value` gives.
Dim rebuild(const Dim& d, const std::function<Dim(const Dim::Atom&)>& atom_value);
/// floor_div, mod, max or min by kind.
Dim combine(Dim::AtomKind kind, const Dim& a, const Dim& b);

}  // namespace gcg::dim_internal
