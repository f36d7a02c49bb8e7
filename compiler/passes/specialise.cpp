#include "compiler/passes/specialise.h"

#include <algorithm>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/stretch.h"
#include "compiler/passes/failing_body.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using Replacements = std::map<std::string, Dim>;

/// Replaces symbols in the output extents of internal operators, which are stored as text.
void substitute_text(Node& node, const Replacements& replacements) {
  for (const char* name : {"extents", kDimsAttribute}) {
    if (std::string_view(node.op->domain) != "gart" || !node.has_attribute(name)) continue;
    std::vector<std::string> extents = node.strings_attribute(name);
    for (std::string& text : extents) text = Dim::parse(text).value().substitute(replacements).str();
    node.attributes[name] = extents;
  }
}

}  // namespace

void substitute_symbols(Graph& graph, const std::map<std::string, Dim>& replacements) {
  for (int64_t i = 0; i < graph.value_count(); ++i) {
    Value& v = graph.value(ValueId(i));
    if (v.shape)
      for (Dim& d : *v.shape) d = d.substitute(replacements);
    if (v.contents)
      for (Dim& d : *v.contents) d = d.substitute(replacements);
  }
  for (DimConstraint& c : graph.constraints) {
    c.a = c.a.substitute(replacements);
    c.b = c.b.substitute(replacements);
  }
  for (NodeId id : graph.order()) {
    substitute_text(graph.node(id), replacements);
    for (auto& body : graph.node(id).bodies) substitute_symbols(*body, replacements);
  }
}

namespace {

/// By subgraph: the constraints that it assumes.
using BodyFacts = std::map<const Graph*, std::vector<DimConstraint>>;

void collect_facts(const Graph& graph, BodyFacts& facts) {
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) {
      facts[body.get()] = body->constraints;
      collect_facts(*body, facts);
    }
}

void add_fact(std::vector<DimConstraint>& facts, const DimConstraint& fact) {
  const bool known = fact.a == fact.b || std::any_of(facts.begin(), facts.end(), [&](const DimConstraint& c) {
                       return c.a == fact.a && c.b == fact.b;
                     });
  if (!known) facts.push_back(fact);
}

/// Inference has collected the constraints of the subgraphs again. This adds the constraints of nodes that passes have
/// replaced.
void restore_facts(Graph& graph, const BodyFacts& facts) {
  for (NodeId id : graph.order())
    for (auto& body : graph.node(id).bodies) {
      if (const auto known = facts.find(body.get()); known != facts.end())
        for (const DimConstraint& fact : known->second) add_fact(body->constraints, fact);
      restore_facts(*body, facts);
    }
}

/// Infers graphs in which branches of Ifs may be ill-typed for the given extents: such a branch becomes gart.Fail.
class BranchInference {
 public:
  explicit BranchInference(Graph& outermost) : outermost_(outermost) {}

  void run(Graph& graph) {
    for (NodeId id : graph.order()) {
      if (graph.node(id).op == &op("If")) branches(graph, id);
      infer_node(graph, id, outermost_);
    }
  }

 private:
  void branches(Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    std::vector<Value> types;
    for (size_t i = node.inputs.size() - static_cast<size_t>(node.captures); i < node.inputs.size(); ++i)
      types.push_back(graph.value(node.inputs[i]));
    std::optional<UnsupportedNode> errors[2];
    for (size_t i = 0; i < 2; ++i) errors[i] = infer(*node.bodies[i], types);
    if (errors[0] && errors[1]) throw NodeError(*errors[0]);
    for (size_t i = 0; i < 2; ++i)
      if (errors[i]) *node.bodies[i] = failing_body(*node.bodies[i], *node.bodies[1 - i], node.name, *errors[i]);
  }

  std::optional<UnsupportedNode> infer(Graph& body, const std::vector<Value>& types) {
    try {
      infer_body(body, types, outermost_);
      return std::nullopt;
    } catch (const NodeError&) {  // the error may concern only a nested branch
    }
    try {
      run(body);
      return std::nullopt;
    } catch (const NodeError& error) {
      return error.node();
    }
  }

  Graph& outermost_;
};

std::set<std::string> open_extents(const Graph& graph) {
  std::set<std::string> known;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape) known.merge(d.symbols());
  return known;
}

void check_names(const Graph& graph, const SymbolValues& fixed) {
  const std::set<std::string> known = open_extents(graph);
  for (const auto& [name, value] : fixed) {
    if (value < 0) fail("--dim ", name, "=", value, ": an extent cannot be negative");
    if (known.count(name)) continue;
    std::string names;
    for (const std::string& k : known) names += (names.empty() ? "" : ", ") + k;
    fail("--dim ", name, ": the model has no such open extent",
         known.empty() ? "; all its extents are fixed" : "; it has: ", names);
  }
}

}  // namespace

Graph specialise(const Graph& graph, const SymbolValues& fixed) {
  check_names(graph, fixed);
  Graph out = graph.clone();
  if (fixed.empty()) return out;
  Replacements replacements;
  for (const auto& [name, value] : fixed) replacements[name] = Dim(value);
  substitute_symbols(out, replacements);
  for (const DimConstraint& c : graph.constraints) {
    const Dim a = c.a.substitute(replacements), b = c.b.substitute(replacements);
    if (a.is_constant() && b.is_constant() && !(a == b))
      fail(c.reason, ": ", c.a.str(), " = ", a.constant(), " but ", c.b.str(), " = ", b.constant());
  }
  BodyFacts facts;
  collect_facts(out, facts);
  out.constraints.clear();
  BranchInference(out).run(out);
  restore_facts(out, facts);
  return out;
}

std::vector<SymbolValues> sets_of(const Graph& graph, std::vector<SymbolValues> sets) {
  const std::set<std::string> known = open_extents(graph);
  for (SymbolValues& set : sets) std::erase_if(set, [&](const auto& value) { return known.count(value.first) == 0; });
  std::vector<SymbolValues> kept;
  for (size_t i = 0; i < sets.size(); ++i)
    if (std::find(sets.begin() + static_cast<std::ptrdiff_t>(i) + 1, sets.end(), sets[i]) == sets.end())
      kept.push_back(sets[i]);
  return kept;
}

}  // namespace gcg
