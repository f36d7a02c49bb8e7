// Internal header of the files that implement Dim.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

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

using Bound = std::optional<int64_t>;  // nullopt: unlimited on that side
struct Interval {
  Bound low, high;
};

/// Facts about an atom, computed once when it is made.
struct AtomFacts {
  Interval interval;              // of its value
  std::set<std::string> symbols;  // all symbols that occur in the atom
  int64_t size = 1;               // atoms and terms in its text; saturates
  int depth = 1;                  // of nesting
  uint64_t hash = 0;              // of its structure
};

/// The unique atom with these parts; equal atoms are one object. All atoms are made here.
Dim::AtomRef intern(Dim::Atom parts);
const AtomFacts& facts(const Dim::Atom& atom);
/// The interval that contains the floor_div, mod, max or min of these parts.
Interval interval_of(Dim::AtomKind kind, const Dim& a, const Dim& b);

/// The atom if `d` is exactly one atom with coefficient 1; else null.
Dim::AtomRef sole_atom(const Dim& d);
/// `d` with every outermost atom replaced by its `atom_value`.
Dim rebuild(const Dim& d, const std::function<Dim(const Dim::AtomRef&)>& atom_value);
/// True if bounds prove that d >= limit for all values of the symbols.
bool at_least(const Dim& d, int64_t limit);
/// floor_div, mod, max or min by kind.
Dim combine(Dim::AtomKind kind, const Dim& a, const Dim& b);

}  // namespace gcg::dim_internal
