// Symbolic dimensions: integer expressions over named symbols, kept in one canonical form.
//
// A Dim is a polynomial with int64 coefficients over *atoms*. An atom is a symbol, or a floor_div, mod, max or min that
// could not be simplified away. Equal polynomials are equal Dims, so `(s+1)*64 == 64*s + 64` needs no prover. Symbols
// stand for extents and are never negative; simplification uses no other fact.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gcg {

class Dim;
using Shape = std::vector<Dim>;
using SymbolValues = std::map<std::string, int64_t>;

class Dim {
 public:
  enum class AtomKind : uint8_t { symbol, floor_div, mod, max, min };
  struct Atom;  // immutable, shared
  using AtomRef = std::shared_ptr<const Atom>;
  using Monomial = std::vector<AtomRef>;  // sorted product of atoms; empty: the constant term
  struct MonomialLess {
    bool operator()(const Monomial&, const Monomial&) const;
  };
  using Terms = std::map<Monomial, int64_t, MonomialLess>;  // no zero coefficient

  Dim() = default;     ///< zero
  Dim(int64_t value);  // NOLINT: implicit, so that numbers can be used as Dims
  static Dim symbol(std::string name);
  /// Parses the output of str(): + - * // % max(,) min(,) parentheses, numbers, names. nullopt for any other text.
  static std::optional<Dim> parse(std::string_view text);

  bool is_constant() const;
  /// Requires is_constant().
  int64_t constant() const;
  bool is(int64_t value) const { return is_constant() && constant() == value; }
  /// The symbol's name if this is exactly one symbol.
  std::optional<std::string> symbol_name() const;

  /// Makes a Dim of the atom without simplification, for functions that have already simplified it.
  static Dim from_atom(AtomRef atom);

  const Terms& terms() const { return terms_; }
  std::set<std::string> symbols() const;
  /// A value that the expression is never below / above, given that symbols are >= 0; nullopt if unknown.
  std::optional<int64_t> lower_bound() const;
  std::optional<int64_t> upper_bound() const;

  /// Every symbol must have a value. Division by zero fails with a CompileError.
  int64_t evaluate(const SymbolValues& values) const;
  Dim substitute(const std::map<std::string, Dim>& replacements) const;
  std::string str() const;

  friend Dim operator+(const Dim&, const Dim&);
  friend Dim operator-(const Dim&, const Dim&);
  friend Dim operator*(const Dim&, const Dim&);
  friend bool operator==(const Dim&, const Dim&);
  /// A total order for map keys; not the numeric order.
  friend bool operator<(const Dim&, const Dim&);

 private:
  Terms terms_;
};

struct Dim::Atom {
  AtomKind kind;
  std::string name;  // symbol
  Dim a, b;          // floor_div, mod, max, min
};

Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);  ///< a - floor_div(a, b) * b
Dim max(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);

Dim product(const Shape& shape);
/// True if all extents are constant.
bool is_static(const Shape& shape);
/// Requires is_static.
std::vector<int64_t> to_extents(const Shape& shape);
Shape to_shape(const std::vector<int64_t>& extents);
/// "[batch,3,224,224]"
std::string str(const Shape& shape);

}  // namespace gcg
