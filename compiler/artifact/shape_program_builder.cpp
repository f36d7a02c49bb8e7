#include "compiler/artifact/shape_program_builder.h"

#include "compiler/support/error.h"

namespace gcg {

using gart::fb::ExprOp;

ShapeProgramBuilder::ShapeProgramBuilder(const std::vector<std::string>& symbols)
    : symbols_(static_cast<uint32_t>(symbols.size())) {
  for (uint32_t i = 0; i < symbols_; ++i) symbol_slots_[symbols[i]] = i;
}

uint32_t ShapeProgramBuilder::emit(ExprOp op, uint32_t a, uint32_t b, int64_t value) {
  auto [it, fresh] = known_.try_emplace({op, a, b, value}, symbols_ + static_cast<uint32_t>(instructions_.size()));
  if (fresh) instructions_.emplace_back(op, a, b, value);
  return it->second;
}

uint32_t ShapeProgramBuilder::atom(const Dim::AtomRef& a) {
  if (const auto known = atom_slots_.find(a); known != atom_slots_.end()) return known->second;
  return atom_slots_[a] = computed(*a);
}

uint32_t ShapeProgramBuilder::computed(const Dim::Atom& a) {
  switch (a.kind) {
    case Dim::AtomKind::symbol: {
      auto it = symbol_slots_.find(a.name);
      if (it == symbol_slots_.end())
        fail("the extent '", a.name, "' is not an extent of any input: a size must not depend on data here");
      return it->second;
    }
    case Dim::AtomKind::floor_div:
      return emit(ExprOp::floor_div, slot(a.a), slot(a.b));
    case Dim::AtomKind::mod:
      return emit(ExprOp::mod, slot(a.a), slot(a.b));
    case Dim::AtomKind::max:
      return emit(ExprOp::max, slot(a.a), slot(a.b));
    case Dim::AtomKind::min:
      return emit(ExprOp::min, slot(a.a), slot(a.b));
  }
  GCG_CHECK(false, "kind of an atom");
}

uint32_t ShapeProgramBuilder::slot(const Dim& d) {
  if (d.is_constant()) return emit(ExprOp::constant, 0, 0, d.constant());
  uint32_t sum = 0;
  bool first = true;
  for (const auto& [monomial, coefficient] : d.terms()) {
    uint32_t term = 0;
    bool started = false;
    for (const Dim::AtomRef& a : monomial) {
      const uint32_t factor = atom(a);
      term = started ? emit(ExprOp::mul, term, factor) : factor;
      started = true;
    }
    if (!started)
      term = emit(ExprOp::constant, 0, 0, coefficient);
    else if (coefficient != 1)
      term = emit(ExprOp::mul, term, emit(ExprOp::constant, 0, 0, coefficient));
    sum = first ? term : emit(ExprOp::add, sum, term);
    first = false;
  }
  return sum;
}

}  // namespace gcg
