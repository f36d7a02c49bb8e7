#include "compiler/passes/settle_extents.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/ops/gart_view.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/open_broadcasts.h"
#include "compiler/passes/specialise.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// The only value of a symbol for which the fact holds. Nullopt if there are several such values, or if no extent
/// fulfils the fact.
std::optional<std::pair<std::string, int64_t>> only_value(const DimConstraint& fact) {
  const Dim difference = fact.a - fact.b;
  int64_t factor = 0, offset = 0;
  std::string name;
  for (const auto& [atoms, coefficient] : difference.terms()) {
    if (atoms.empty()) {
      offset = coefficient;
    } else if (atoms.size() == 1 && atoms[0]->kind == Dim::AtomKind::symbol && name.empty()) {
      name = atoms[0]->name;
      factor = coefficient;
    } else {
      return std::nullopt;
    }
  }
  if (name.empty() || offset % factor != 0 || -(offset / factor) < 0) return std::nullopt;
  return std::pair(name, -(offset / factor));
}

bool ranks_known(const Graph& graph) {
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (!graph.value(ValueId(i)).shape) return false;
  return true;
}

/// The facts of the outermost graph that every run must satisfy, also a run whose extents broadcast.
std::vector<DimConstraint> required(const Graph& graph) {
  // Broadcasts cannot be analysed while a rank is unknown. A later round then settles the extents.
  if (!ranks_known(graph)) return {};
  const std::optional<OpenBroadcasts> open = open_broadcasts(graph);
  return open ? open->graph.constraints : graph.constraints;
}

std::set<std::string> input_symbols(const Graph& graph) {
  std::set<std::string> names;
  for (ValueId in : graph.inputs)
    if (graph.value(in).shape)
      for (const Dim& d : *graph.value(in).shape) names.merge(d.symbols());
  return names;
}

SymbolValues settled(const Graph& graph) {
  const std::set<std::string> inputs = input_symbols(graph);
  const auto settles = [&](const DimConstraint& fact) {
    const auto value = only_value(fact);
    return value && inputs.count(value->first) != 0;
  };
  SymbolValues values;
  if (std::none_of(graph.constraints.begin(), graph.constraints.end(), settles)) return values;
  for (const DimConstraint& fact : required(graph))
    if (settles(fact)) values.insert(*only_value(fact));  // the first of several contradictory facts counts
  return values;
}

/// The extents of a gart.View of a value of this shape. An extent becomes a number if the symbols' values give one.
std::vector<std::string> pinned_form(const Shape& shape, const std::map<std::string, Dim>& numbers) {
  std::vector<std::string> extents;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Dim pinned = shape[d].substitute(numbers);
    extents.push_back(pinned.is_constant() ? pinned.str() : concat("x0_", d));
  }
  return extents;
}

/// Makes the readers of a value with one of these symbols read a view that has numbers instead. The view has facts of
/// its own, which a run checks as soon as it knows the extents.
class LateExtents {
 public:
  /// `reasons`: by symbol, the reason for its value.
  LateExtents(Graph& graph, const SymbolValues& values, const std::map<std::string, std::string>& reasons)
      : graph_(graph), numbers_(values.begin(), values.end()), reasons_(reasons), users_(graph.users()) {}

  bool run() {
    bool changed = false;
    for (NodeId id : graph_.order()) {
      const std::vector<std::string> symbols = graph_.node(id).strings_attribute(kSymbolsAttribute);
      if (std::none_of(symbols.begin(), symbols.end(), [&](const auto& s) { return numbers_.count(s) != 0; })) continue;
      const std::vector<ValueId> outputs = graph_.node(id).outputs;
      for (ValueId v : outputs) changed = (v.valid() && pin(v, graph_.node(id).name)) || changed;
    }
    return changed;
  }

 private:
  bool pin(ValueId v, const std::string& name) {
    const Shape shape = graph_.value(v).shape.value_or(Shape());
    const std::vector<std::string> extents = pinned_form(shape, numbers_);
    const std::vector<NodeId> readers = users_[static_cast<size_t>(v.index)];
    const bool open = std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return !is_view(r, extents); });
    if (!open || extents == pinned_form(shape, {})) return false;
    const NodeId view =
        graph_.add_node(op_gart_View, name, {v}, 1, {{"shape", extents}, {kViewReasons, reasons_of(shape)}});
    for (NodeId r : readers)
      for (ValueId& in : graph_.node(r).inputs)
        if (in == v && !is_view(r, extents)) in = graph_.node(view).outputs[0];
    return true;
  }

  std::vector<std::string> reasons_of(const Shape& shape) const {
    std::vector<std::string> reasons(shape.size());
    for (size_t d = 0; d < shape.size(); ++d)
      for (const std::string& symbol : shape[d].symbols())
        if (const auto it = reasons_.find(symbol); it != reasons_.end()) reasons[d] = it->second;
    return reasons;
  }

  bool is_view(NodeId id, const std::vector<std::string>& extents) const {
    const Node& n = graph_.node(id);
    return n.op == &op_gart_View && n.strings_attribute("shape") == extents;
  }

  Graph& graph_;
  const std::map<std::string, Dim> numbers_;
  const std::map<std::string, std::string>& reasons_;
  const std::vector<std::vector<NodeId>> users_;
};

/// The symbols that a run binds and that only one number satisfies.
bool pin_late_extents(Graph& graph) {
  const std::set<std::string> early = input_symbols(graph);
  SymbolValues values;
  std::map<std::string, std::string> reasons;
  for (const DimConstraint& fact : graph.constraints) {
    const auto value = only_value(fact);
    if (value && early.count(value->first) == 0 && values.insert(*value).second) reasons[value->first] = fact.reason;
  }
  bool changed = !values.empty() && LateExtents(graph, values, reasons).run();
  for (NodeId id : graph.order())
    for (auto& body : graph.node(id).bodies) changed = pin_late_extents(*body) || changed;
  return changed;
}

bool settle_inputs(Graph& graph) {
  const SymbolValues values = settled(graph);
  if (values.empty()) return false;
  const std::map<std::string, Dim> numbers(values.begin(), values.end());
  const std::vector<DimConstraint> facts = std::move(graph.constraints);
  graph = specialise(graph, values);
  // Restores the facts of nodes that earlier passes have replaced, because inference does not find these facts.
  for (const DimConstraint& fact : facts) {
    const Dim a = fact.a.substitute(numbers), b = fact.b.substitute(numbers);
    const bool known = a == b || std::any_of(graph.constraints.begin(), graph.constraints.end(), [&](const auto& c) {
                         return (c.a == a && c.b == b) || (c.a == b && c.b == a);
                       });
    if (!known) graph.constraints.push_back({a, b, fact.reason});
  }
  return true;
}

}  // namespace

bool settle_extents(Graph& graph) {
  const bool settled = settle_inputs(graph), pinned = pin_late_extents(graph);
  if (pinned) infer_graph(graph);
  return settled || pinned;
}

std::vector<Shape> input_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (ValueId in : graph.inputs) shapes.push_back(*graph.value(in).shape);
  return shapes;
}

SymbolValues settled_since(const std::vector<Shape>& declared, const Graph& graph) {
  SymbolValues settled;
  for (size_t i = 0; i < declared.size(); ++i) {
    const Shape& now = *graph.value(graph.inputs[i]).shape;
    for (size_t d = 0; d < now.size(); ++d)
      if (const auto name = declared[i][d].symbol_name(); name && now[d].is_constant())
        settled[*name] = now[d].constant();
  }
  return settled;
}

DimValues without_settled(DimValues dims, const SymbolValues& settled) {
  std::erase_if(dims, [&](const auto& dim) {
    const auto it = settled.find(dim.first);
    if (it == settled.end()) return false;
    for (int64_t value : dim.second)
      if (value != it->second) fail("--dim ", dim.first, "=", value, ": the model fixes this extent at ", it->second);
    return true;
  });
  return dims;
}

}  // namespace gcg
