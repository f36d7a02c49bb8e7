#include "compiler/plan/shape_sets.h"

#include "compiler/support/error.h"

namespace gcg {

std::vector<SymbolValues> shape_sets(const std::vector<std::pair<std::string, std::vector<int64_t>>>& dims) {
  std::vector<SymbolValues> sets = {{}};
  for (const auto& [name, values] : dims) {
    std::vector<SymbolValues> next;
    for (const SymbolValues& set : sets)
      for (int64_t v : values) {
        next.push_back(set);
        next.back()[name] = v;
      }
    sets = std::move(next);
  }
  if (!dims.empty()) sets.emplace_back();
  return sets;
}

std::string describe(const SymbolValues& set) {
  std::string out;
  for (const auto& [name, value] : set) out += concat(out.empty() ? "" : ",", name, "=", value);
  return out;
}

}  // namespace gcg
