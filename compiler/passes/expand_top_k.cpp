#include "compiler/passes/expand_top_k.h"

#include "compiler/ops/infer.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

using Attributes = std::map<std::string, Attribute>;

void expand(Rewriter& r, NodeId id) {
  const std::string name = r.graph.node(id).name;
  const std::vector<ValueId> inputs = r.graph.node(id).inputs, outputs = r.graph.node(id).outputs;
  const Attributes axis = {{"axis", r.graph.node(id).int_attribute("axis", -1)}};
  Attributes order = axis;
  order["largest"] = r.graph.node(id).int_attribute("largest", 1);
  // PlacesOfRanks keeps the symbol that TopK has for this extent, because the graph around it uses the symbol.
  Attributes chosen = axis;
  if (const auto symbols = r.graph.node(id).attributes.find(kSymbolsAttribute);
      symbols != r.graph.node(id).attributes.end())
    chosen.insert(*symbols);
  const ValueId ranks = r.add(op_gart_Ranks, name, {inputs[0]}, order);
  const ValueId places = r.add(op_gart_PlacesOfRanks, name, {ranks, inputs[1]}, chosen);
  if (outputs[0].valid()) r.replace(outputs[0], r.add(op_GatherElements, name, {inputs[0], places}, axis));
  if (outputs.size() > 1 && outputs[1].valid()) r.replace(outputs[1], places);
  r.graph.erase_node(id);
}

/// True for lines so short that counting the smaller elements is faster than sorting the line in a block.
bool has_short_lines(const Graph& graph, const Node& n) {
  constexpr int64_t kShort = 256;
  const Shape& x = *graph.value(n.inputs[0]).shape;
  const auto axis = static_cast<size_t>(wrap_axis(n.int_attribute("axis", -1), static_cast<int64_t>(x.size())));
  return x[axis].upper_bound().value_or(kShort + 1) <= kShort;
}

}  // namespace

bool expand_top_k(Graph& graph) {
  const bool changed = edit_all(graph, [](Rewriter& r) {
    bool any = false;
    for (NodeId id : r.graph.order()) {
      if (r.graph.node(id).op != &op_TopK || !has_short_lines(r.graph, r.graph.node(id))) continue;
      expand(r, id);
      any = true;
    }
    return any;
  });
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
