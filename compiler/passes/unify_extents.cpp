#include "compiler/passes/unify_extents.h"

#include <map>
#include <string>
#include <vector>

#include "compiler/passes/specialise.h"

namespace gcg {
namespace {

/// The symbols of the inputs, in order.
std::map<std::string, size_t> input_symbols(const Graph& graph) {
  std::map<std::string, size_t> order;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape)
      for (const std::string& s : d.symbols()) order.try_emplace(s, order.size());
  return order;
}

}  // namespace

bool unify_extents(Graph& graph) {
  const std::map<std::string, size_t> order = input_symbols(graph);
  std::map<std::string, Dim> first_of;
  const auto first = [&](std::string name) {
    for (auto it = first_of.find(name); it != first_of.end(); it = first_of.find(name))
      name = *it->second.symbol_name();
    return name;
  };
  for (const DimConstraint& fact : graph.constraints) {
    const auto a = fact.a.symbol_name(), b = fact.b.symbol_name();
    if (!a || !b || order.count(*a) == 0 || order.count(*b) == 0) continue;
    std::string kept = first(*a), other = first(*b);
    if (kept == other) continue;
    if (order.at(other) < order.at(kept)) std::swap(kept, other);
    first_of.emplace(other, Dim::symbol(kept));
  }
  if (first_of.empty()) return false;
  for (auto& [name, dim] : first_of) dim = Dim::symbol(first(name));
  substitute_symbols(graph, first_of);
  std::erase_if(graph.constraints, [](const DimConstraint& fact) { return fact.a == fact.b; });
  return true;
}

}  // namespace gcg
