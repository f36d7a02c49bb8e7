#include "compiler/open_model.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ops/op_def.h"
#include "compiler/passes/specialise.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

bool is_in(const std::vector<DimConstraint>& facts, const DimConstraint& fact) {
  return std::any_of(facts.begin(), facts.end(), [&](const DimConstraint& f) {
    return (f.a == fact.a && f.b == fact.b) || (f.a == fact.b && f.b == fact.a);
  });
}

std::map<std::string, Dim> replacements(const SymbolValues& fixed) { return {fixed.begin(), fixed.end()}; }

void run_later_passes(Graph& graph, const PassOptions& passes) {
  const std::vector<PassGroup>& groups = model_passes();
  run_passes(graph, {groups.begin() + 1, groups.end()}, nullptr, passes);
}

}  // namespace

std::optional<OpenModel> OpenModel::make(Graph ranked, const PassOptions& passes) {
  OpenModel model;
  model.ranked_ = std::move(ranked);
  try {
    std::optional<OpenBroadcasts> open = open_broadcasts(model.ranked_);
    if (!open) return std::nullopt;
    model.open_ = std::move(*open);
    run_later_passes(model.open_.graph, passes);
  } catch (const InternalError&) {
    throw;
  } catch (const CompileError&) {
    return std::nullopt;
  }
  return model;
}

bool OpenModel::fits(const Graph& graph) const {
  std::set<std::string> known;
  const auto add = [&](const Graph& from, const std::vector<ValueId>& values) {
    for (ValueId v : values)
      for (const Dim& d : *from.value(v).shape) known.merge(d.symbols());
  };
  add(graph, graph.inputs);
  add(graph, graph.outputs);
  const size_t before = known.size();
  add(open_.graph, open_.graph.outputs);
  return known.size() == before;
}

std::vector<DimConstraint> OpenModel::assumed(const Graph& graph, const SymbolValues& fixed) const {
  std::vector<DimConstraint> facts;
  for (const DimConstraint& fact : graph.constraints) {
    const auto numbers = replacements(fixed);
    if (fact.a.substitute(numbers) == fact.b.substitute(numbers) || is_in(open_.graph.constraints, fact)) continue;
    facts.push_back(fact);
  }
  return facts;
}

bool OpenModel::broadcasts_with(const SymbolValues& fixed) const {
  const auto numbers = replacements(fixed);
  return std::any_of(open_.pairs.begin(), open_.pairs.end(), [&](const DimConstraint& pair) {
    return broadcasts(pair.a.substitute(numbers)) != broadcasts(pair.b.substitute(numbers));
  });
}

Graph OpenModel::specialised(const SymbolValues& fixed, const PassOptions& passes) const {
  Graph start = ranked_.clone();
  start.constraints.clear();
  start = specialise(start, fixed);
  if (std::optional<OpenBroadcasts> open = open_broadcasts(start)) start = std::move(open->graph);
  run_later_passes(start, passes);
  return start;
}

}  // namespace gcg
