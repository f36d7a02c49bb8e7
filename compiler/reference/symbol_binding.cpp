#include "compiler/reference/symbol_binding.h"

namespace gcg {

bool is_known(const Dim& dim, const SymbolValues& symbols) {
  for (const std::string& s : dim.symbols())
    if (symbols.count(s) == 0) return false;
  return true;
}

bool bind_extent(const Dim& dim, int64_t value, SymbolValues& symbols) {
  if (is_known(dim, symbols)) return dim.evaluate(symbols) == value;
  std::map<std::string, Dim> known;
  for (const auto& [name, extent] : symbols) known.emplace(name, Dim(extent));
  const Dim rest = dim.substitute(known);
  const std::set<std::string> unknown = rest.symbols();
  if (unknown.size() != 1) return true;
  const Dim symbol = Dim::symbol(*unknown.begin());
  const Dim offset = rest.substitute({{*unknown.begin(), Dim(0)}});
  const Dim scaled = rest - offset;  // coefficient * symbol, if `rest` is linear in the symbol
  const auto& terms = scaled.terms();
  if (!offset.is_constant() || terms.size() != 1 || scaled != symbol * Dim(terms.begin()->second)) return true;
  const int64_t coefficient = terms.begin()->second, scaled_value = value - offset.constant();
  if (scaled_value % coefficient != 0 || scaled_value / coefficient < 0) return false;
  symbols[*unknown.begin()] = scaled_value / coefficient;
  return true;
}

}  // namespace gcg
