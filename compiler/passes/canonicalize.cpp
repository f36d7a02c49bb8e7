#include "compiler/passes/canonicalize.h"

#include <unordered_map>

#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Every rule makes the graph smaller or moves it down a short list of forms. More rounds than this mean that rules
/// form a cycle.
constexpr int kMostRounds = 50;

const std::vector<Rule>& rules_for(const OpDef* op) {
  static const std::unordered_map<const OpDef*, std::vector<Rule>> table = [] {
    std::unordered_map<const OpDef*, std::vector<Rule>> out;
    for (const auto* rules :
         {&view_rules(), &movement_rules(), &arithmetic_rules(), &decomposition_rules(), &normalization_rules()})
      for (const RuleFor& r : *rules) out[r.op].push_back(r.rule);
    return out;
  }();
  static const std::vector<Rule> none;
  const auto it = table.find(op);
  return it == table.end() ? none : it->second;
}

bool apply_rules(Rewriter& r, NodeId id) {
  for (Rule rule : rules_for(r.graph.node(id).op)) {
    if (!rule(r, id)) continue;
    if (!r.graph.node(id).erased) r.erase_if_dead(id);
    return true;
  }
  return false;
}

bool canonicalize_one(Rewriter& r) {
  bool changed = false;
  for (int round = 0;; ++round) {
    GCG_CHECK(round < kMostRounds, "the rules of canonicalize do not terminate in graph '", r.graph.name, "'");
    bool again = false;
    for (NodeId id : r.graph.order())
      if (!r.graph.node(id).erased) again |= apply_rules(r, id);
    if (!again) return changed;
    changed = true;
  }
}

}  // namespace

bool canonicalize(Graph& graph) { return edit_all(graph, canonicalize_one); }

}  // namespace gcg
