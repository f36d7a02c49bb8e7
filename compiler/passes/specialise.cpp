#include "compiler/passes/specialise.h"

#include "compiler/ops/infer.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using Replacements = std::map<std::string, Dim>;

void substitute(Graph& graph, const Replacements& replacements) {
  for (int64_t i = 0; i < graph.value_count(); ++i) {
    Value& v = graph.value(ValueId(i));
    if (v.shape)
      for (Dim& d : *v.shape) d = d.substitute(replacements);
    if (v.contents)
      for (Dim& d : *v.contents) d = d.substitute(replacements);
  }
  for (NodeId id : graph.order())
    for (auto& body : graph.node(id).bodies) substitute(*body, replacements);
}

void check_names(const Graph& graph, const SymbolValues& fixed) {
  std::set<std::string> known;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape) known.merge(d.symbols());
  for (const auto& [name, value] : fixed) {
    if (value < 0) fail("--dim ", name, "=", value, ": an extent cannot be negative");
    if (known.count(name)) continue;
    std::string names;
    for (const std::string& k : known) names += (names.empty() ? "" : ", ") + k;
    fail("--dim ", name, ": the model has no open extent of that name", known.empty() ? "; all its extents are fixed" : "; it has: ", names);
  }
}

}  // namespace

Graph specialise(const Graph& graph, const SymbolValues& fixed) {
  check_names(graph, fixed);
  Graph out = graph.clone();
  if (fixed.empty()) return out;
  Replacements replacements;
  for (const auto& [name, value] : fixed) replacements[name] = Dim(value);
  substitute(out, replacements);
  for (const DimConstraint& c : graph.constraints) {
    const Dim a = c.a.substitute(replacements), b = c.b.substitute(replacements);
    if (a.is_constant() && b.is_constant() && !(a == b)) fail(c.reason, ": ", c.a.str(), " = ", a.constant(), " but ", c.b.str(), " = ", b.constant());
  }
  out.constraints.clear();
  infer_graph(out);
  return out;
}

}  // namespace gcg
