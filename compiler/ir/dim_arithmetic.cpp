// Dim: polynomial arithmetic, evaluation, substitution and bounds. Quotients, remainders, maxima and minima are in
// dim_atoms.cpp, text in dim_text.cpp.
#include <algorithm>
#include <unordered_map>

#include "compiler/ir/dim.h"
#include "compiler/ir/dim_internal.h"
#include "compiler/support/error.h"

namespace gcg {
namespace dim_internal {

int64_t add(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) fail("dimension arithmetic: ", a, " + ", b, " exceeds 64 bits");
  return r;
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) fail("dimension arithmetic: ", a, " * ", b, " exceeds 64 bits");
  return r;
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) fail("dimension arithmetic: ", a, " // 0");
  if (b == -1) return multiply(a, -1);
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}

int64_t modulo(int64_t a, int64_t b) {
  if (b == 0) fail("dimension arithmetic: ", a, " % 0");
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

namespace {

int compare(const Dim& a, const Dim& b);

int compare(const Dim::AtomRef& a, const Dim::AtomRef& b) {
  if (a == b) return 0;  // two different objects are different atoms, because equal atoms are one object
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (const int c = a->name.compare(b->name)) return c;
  if (const int c = compare(a->a, b->a)) return c;
  return compare(a->b, b->b);
}

/// Graded lexicographic, highest degree first: a monomial order, as polynomial division requires. The constant is last.
int compare(const Dim::Monomial& a, const Dim::Monomial& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    if (const int c = compare(a[i], b[i])) return c;
  return 0;
}

int compare(const Dim& a, const Dim& b) {
  auto x = a.terms().begin(), y = b.terms().begin();
  for (; x != a.terms().end() && y != b.terms().end(); ++x, ++y) {
    if (const int c = compare(x->first, y->first)) return c;
    if (x->second != y->second) return x->second < y->second ? -1 : 1;
  }
  if (x == a.terms().end() && y == b.terms().end()) return 0;
  return x == a.terms().end() ? -1 : 1;
}

}  // namespace

Dim::Monomial multiply(const Dim::Monomial& a, const Dim::Monomial& b) {
  Dim::Monomial out;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out),
             [](const Dim::AtomRef& x, const Dim::AtomRef& y) { return compare(x, y) < 0; });
  return out;
}

std::optional<Dim::Monomial> divide(const Dim::Monomial& a, const Dim::Monomial& b) {
  Dim::Monomial out;
  size_t j = 0;
  for (const Dim::AtomRef& atom : a) {
    if (j < b.size() && compare(atom, b[j]) == 0)
      ++j;
    else
      out.push_back(atom);
  }
  if (j != b.size()) return std::nullopt;
  return out;
}

Dim::Monomial common_factor(const Dim::Monomial& a, const Dim::Monomial& b) {
  Dim::Monomial out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out),
                        [](const Dim::AtomRef& x, const Dim::AtomRef& y) { return compare(x, y) < 0; });
  return out;
}

Dim monomial(const Dim::Monomial& atoms, int64_t coefficient) {
  Dim out(coefficient);
  for (const Dim::AtomRef& atom : atoms) out = out * Dim::from_atom(atom);
  return out;
}

Dim::AtomRef sole_atom(const Dim& d) {
  if (d.terms().size() != 1) return nullptr;
  const auto& [m, coefficient] = *d.terms().begin();
  return coefficient == 1 && m.size() == 1 ? m[0] : nullptr;
}

Dim rebuild(const Dim& d, const std::function<Dim(const Dim::AtomRef&)>& atom_value) {
  std::vector<Dim> sums;  // pairwise addition: each term is moved log(n) times instead of n times
  for (const auto& [m, coefficient] : d.terms()) {
    Dim term(coefficient);
    for (const Dim::AtomRef& atom : m) term = term * atom_value(atom);
    sums.push_back(std::move(term));
  }
  for (size_t step = 1; step < sums.size(); step *= 2)
    for (size_t i = 0; i + step < sums.size(); i += 2 * step) sums[i] = sums[i] + sums[i + step];
  return sums.empty() ? Dim() : sums[0];
}

}  // namespace dim_internal

using namespace dim_internal;

bool Dim::MonomialLess::operator()(const Monomial& a, const Monomial& b) const {
  return dim_internal::compare(a, b) < 0;
}

Dim::Dim(int64_t value) {
  if (value != 0) terms_.emplace(Monomial{}, value);
}

Dim Dim::from_atom(AtomRef atom) {
  Dim out;
  out.terms_.emplace(Monomial{std::move(atom)}, 1);
  return out;
}

Dim Dim::symbol(std::string name) { return from_atom(intern({AtomKind::symbol, std::move(name), {}, {}})); }

bool Dim::is_constant() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }

int64_t Dim::constant() const {
  GCG_CHECK(is_constant(), "constant() of ", str());
  return terms_.empty() ? 0 : terms_.begin()->second;
}

std::optional<std::string> Dim::symbol_name() const {
  const AtomRef atom = sole_atom(*this);
  return atom && atom->kind == AtomKind::symbol ? std::optional(atom->name) : std::nullopt;
}

std::set<std::string> Dim::symbols() const {
  std::set<std::string> out;
  for (const auto& [m, coefficient] : terms_)
    for (const AtomRef& atom : m) out.insert(facts(*atom).symbols.begin(), facts(*atom).symbols.end());
  return out;
}

namespace {

/// Values of the atoms of one expression; each atom is computed once, however often it occurs.
class Evaluation {
 public:
  explicit Evaluation(const SymbolValues& values) : values_(values) {}

  int64_t value(const Dim& d) {
    int64_t sum = 0;
    for (const auto& [m, coefficient] : d.terms()) {
      int64_t term = coefficient;
      for (const Dim::AtomRef& atom : m)
        term = multiply(term, atom->kind == Dim::AtomKind::symbol ? symbol(d, *atom) : value(*atom));
      sum = add(sum, term);
    }
    return sum;
  }

 private:
  int64_t symbol(const Dim& d, const Dim::Atom& atom) const {
    const auto it = values_.find(atom.name);
    if (it == values_.end()) fail("dimension ", d.str(), ": symbol '", atom.name, "' has no value");
    return it->second;
  }

  int64_t value(const Dim::Atom& atom) {
    if (const auto known = known_.find(&atom); known != known_.end()) return known->second;
    const int64_t a = value(atom.a), b = value(atom.b);
    return known_[&atom] = combined(atom.kind, a, b);
  }

  static int64_t combined(Dim::AtomKind kind, int64_t a, int64_t b) {
    switch (kind) {
      case Dim::AtomKind::floor_div:
        return floor_divide(a, b);
      case Dim::AtomKind::mod:
        return modulo(a, b);
      case Dim::AtomKind::max:
        return std::max(a, b);
      case Dim::AtomKind::min:
        return std::min(a, b);
      case Dim::AtomKind::symbol:
        break;
    }
    GCG_CHECK(false, "atom kind");
  }

  const SymbolValues& values_;
  std::unordered_map<const Dim::Atom*, int64_t> known_;
};

class Substitution {
 public:
  explicit Substitution(const std::map<std::string, Dim>& replacements) : replacements_(replacements) {}

  Dim value(const Dim& d) {
    if (d.is_constant()) return d;
    return rebuild(d, [this](const Dim::AtomRef& atom) { return value(atom); });
  }

 private:
  Dim value(const Dim::AtomRef& atom) {
    if (atom->kind == Dim::AtomKind::symbol) {
      const auto it = replacements_.find(atom->name);
      return it == replacements_.end() ? Dim::from_atom(atom) : it->second;
    }
    if (const auto known = known_.find(atom.get()); known != known_.end()) return known->second;
    const Dim a = value(atom->a), b = value(atom->b);
    return known_[atom.get()] = combine(atom->kind, a, b);
  }

  const std::map<std::string, Dim>& replacements_;
  std::unordered_map<const Dim::Atom*, Dim> known_;
};

}  // namespace

int64_t Dim::evaluate(const SymbolValues& values) const { return Evaluation(values).value(*this); }

Dim Dim::substitute(const std::map<std::string, Dim>& replacements) const {
  return replacements.empty() ? *this : Substitution(replacements).value(*this);
}

Dim operator+(const Dim& a, const Dim& b) {
  if (b.terms_.size() > a.terms_.size()) return b + a;
  Dim out = a;
  for (const auto& [m, coefficient] : b.terms_) {
    const auto [it, fresh] = out.terms_.emplace(m, coefficient);
    if (fresh) continue;
    it->second = add(it->second, coefficient);
    if (it->second == 0) out.terms_.erase(it);
  }
  return out;
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  constexpr size_t kMostTerms = 4096;  // no real model needs more terms
  if (a.terms_.size() > 1 && b.terms_.size() > kMostTerms / a.terms_.size())
    fail("dimension arithmetic: a product of sums of ", a.terms_.size(), " and ", b.terms_.size(), " terms; together ",
         kMostTerms, " terms are possible");
  Dim out;
  for (const auto& [m, c] : a.terms_)
    for (const auto& [n, d] : b.terms_) {
      const int64_t coefficient = multiply(c, d);
      const auto [it, fresh] = out.terms_.emplace(multiply(m, n), coefficient);
      if (!fresh) it->second = add(it->second, coefficient);
      if (it->second == 0) out.terms_.erase(it);
    }
  return out;
}

bool operator==(const Dim& a, const Dim& b) { return dim_internal::compare(a, b) == 0; }
bool operator<(const Dim& a, const Dim& b) { return dim_internal::compare(a, b) < 0; }

Dim product(const Shape& shape) {
  Dim out(1);
  for (const Dim& d : shape) out = out * d;
  return out;
}

bool is_static(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_constant(); });
}

std::vector<int64_t> to_extents(const Shape& shape) {
  std::vector<int64_t> out;
  for (const Dim& d : shape) out.push_back(d.constant());
  return out;
}

Shape to_shape(const std::vector<int64_t>& extents) { return Shape(extents.begin(), extents.end()); }

}  // namespace gcg
