#include "compiler/passes/chain_concats.h"

#include <map>

#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

struct Joined {
  int64_t axis = 0;  // the axis, counted from the front
  std::vector<ValueId> parts;
  friend auto operator<=>(const Joined&, const Joined&) = default;
};

/// True for Concats of tensors. Concats of shapes (lists of numbers) are left as they are.
bool applies(const Rewriter& r, const Node& n) {
  return n.op == &op_Concat && n.inputs.size() >= 2 && r.has_shape(n.outputs[0]) && r.shape(n.outputs[0]).size() >= 2;
}

Joined joined_by(const Rewriter& r, const Node& n) {
  const auto rank = static_cast<int64_t>(r.shape(n.outputs[0]).size());
  const int64_t axis = n.int_attribute("axis", 0);
  return {axis < 0 ? axis + rank : axis, n.inputs};
}

/// Finds the longest proper prefix of `joined`, of at least two parts, that an earlier Concat joins. Returns an invalid
/// id if there is none. `parts` receives the number of parts of the prefix.
ValueId known_beginning(const std::map<Joined, ValueId>& known, const Joined& joined, size_t& parts) {
  Joined beginning = joined;
  for (parts = joined.parts.size() - 1; parts >= 2; --parts) {
    beginning.parts.resize(parts);
    if (const auto it = known.find(beginning); it != known.end()) return it->second;
  }
  return {};
}

bool chain(Rewriter& r) {
  std::map<Joined, ValueId> known;  // earlier Concats, by their parts in the original model
  bool changed = false;
  for (NodeId id : r.graph.order()) {
    if (r.graph.node(id).erased || !applies(r, r.graph.node(id))) continue;
    const Joined joined = joined_by(r, r.graph.node(id));
    ValueId result = r.graph.node(id).outputs[0];
    size_t parts = 0;
    if (const ValueId beginning = known_beginning(known, joined, parts); beginning.valid()) {
      std::vector<ValueId> inputs{beginning};
      inputs.insert(inputs.end(), joined.parts.begin() + static_cast<std::ptrdiff_t>(parts), joined.parts.end());
      const std::string name = r.graph.node(id).name;
      const ValueId chained = r.add(op_Concat, name, inputs, {{"axis", joined.axis}});
      if (r.replace(result, chained)) {
        r.erase_if_dead(id);
        result = chained;
        changed = true;
      } else {
        r.erase_if_dead(r.value(chained).producer);
      }
    }
    known.emplace(joined, result);
  }
  return changed;
}

}  // namespace

bool chain_concats(Graph& graph) { return edit_all(graph, chain); }

}  // namespace gcg
