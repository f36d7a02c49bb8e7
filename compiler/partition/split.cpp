#include <algorithm>
#include <iterator>
#include <set>

#include "compiler/ops/op_def.h"
#include "compiler/partition/assembly.h"
#include "compiler/partition/at_kept_values.h"
#include "compiler/partition/equal_parts.h"
#include "compiler/partition/write_extents.h"
#include "compiler/support/error.h"
#include "compiler/support/indexed_vector.h"

namespace gcg {
namespace {

using Symbols = std::set<std::string>;

Symbols symbols_of(const Shape& dims) {
  Symbols all;
  for (const Dim& d : dims) all.merge(d.symbols());
  return all;
}

Node clone_node(const Node& node) {
  Node copy{node.op, node.name, node.inputs, node.outputs, node.attributes, {}, node.captures};
  for (const auto& body : node.bodies) copy.bodies.push_back(std::make_unique<Graph>(body->clone()));
  return copy;
}

/// Copies outputs that are inputs or constants of the graph. The copy takes over a constant's name, which the caller
/// knows.
void copy_outputs(Graph& graph, Cut& cut) {
  const std::set<ValueId> inputs(graph.inputs.begin(), graph.inputs.end());
  for (ValueId& out : graph.outputs) {
    if (inputs.count(out) == 0 && !graph.value(out).is_constant()) continue;
    const NodeId copy = graph.add_node(op("Identity"), graph.value(out).name, {out}, 1);
    Value& result = graph.value(graph.node(copy).outputs[0]);
    result.dtype = graph.value(out).dtype;
    result.shape = graph.value(out).shape;
    if (graph.value(out).is_constant()) std::swap(result.name, graph.value(out).name);
    if (cut.groups.empty()) cut.groups.push_back({"outputs", {}, {0}});
    cut.groups.back().nodes.push_back(copy);
    out = graph.node(copy).outputs[0];
  }
}

/// The inputs, nodes and results of one call.
struct PlannedCall {
  int group = 0;
  std::vector<NodeId> nodes;  // only needed nodes
  std::vector<ValueId> inputs, outputs;
  std::vector<ValueId> computed;  // values that the call reads and other groups make, but that extents determine
  Symbols bound;                  // symbols whose values the call's nodes determine
};

/// The graph of a part.
class PartWriter {
 public:
  PartWriter(const Graph& model, const PlannedCall& call) : model_(model), call_(call), extents_(part_.graph) {}

  Part run(const std::string& name, const Symbols& needed) {
    part_.graph.name = name;
    for (ValueId v : call_.inputs) part_.graph.inputs.push_back(copy(v));
    for (ValueId v : call_.inputs) know_extents(v);
    for (const std::string& s : needed)
      if (!extents_.knows(s)) add_extent(s);
    for (NodeId id : call_.nodes)
      for (ValueId v : model_.node(id).outputs)
        if (v.valid()) copy(v), know_extents(v);
    for (ValueId v : call_.computed) {
      copies_[v] = extents_.write(model_.value(v));
      GCG_CHECK(copies_[v].valid(), "the elements of '", model_.value(v).name, "' cannot be computed");
    }
    for (NodeId id : call_.nodes) add_node(model_.node(id));
    for (ValueId v : call_.outputs) part_.graph.outputs.push_back(copies_.at(v));
    add_facts();
    return std::move(part_);
  }

 private:
  ValueId copy(ValueId v) {
    Value value = model_.value(v);
    value.producer = NodeId();
    return copies_[v] = part_.graph.add_value(std::move(value));
  }

  void know_extents(ValueId v) {
    const Shape& shape = *model_.value(v).shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (const auto s = shape[d].symbol_name()) extents_.know(*s, copies_.at(v), static_cast<int>(d));
  }

  void add_extent(const std::string& symbol) {
    Value value;
    value.name = symbol;
    value.dtype = DType::boolean;
    value.shape = Shape{Dim::symbol(symbol)};
    part_.graph.inputs.push_back(part_.graph.add_value(std::move(value)));
    part_.extents.push_back(symbol);
    extents_.know(symbol, part_.graph.inputs.back(), 0);
  }

  void add_node(const Node& node) {
    Node clone = clone_node(node);
    for (ValueId& v : clone.inputs) {
      if (!v.valid()) continue;
      if (copies_.count(v) == 0) copy(v);  // a constant
      v = copies_.at(v);
    }
    for (ValueId& v : clone.outputs)
      if (v.valid()) v = copies_.at(v);
    part_.graph.add_node(std::move(clone));
  }

  /// Adds the facts that the part can check.
  void add_facts() {
    Symbols known = call_.bound;
    for (ValueId v : part_.graph.inputs) known.merge(symbols_of(*part_.graph.value(v).shape));
    for (const DimConstraint& fact : model_.constraints) {
      const Symbols named = symbols_of({fact.a, fact.b});
      if (std::includes(known.begin(), known.end(), named.begin(), named.end()))
        part_.graph.constraints.push_back(fact);
    }
  }

  const Graph& model_;
  const PlannedCall& call_;
  Part part_;
  ExtentWriter extents_;
  std::map<ValueId, ValueId> copies_;
};

class Splitter {
 public:
  Splitter(const Graph& graph, Cut cut, const std::vector<ValueId>& kept_values) {
    result_.graph = graph.clone();
    result_.cut = std::move(cut);
    copy_outputs(result_.graph, result_.cut);
    crosses_ = IndexedVector<ValueId, bool>(static_cast<size_t>(graph_.value_count()), false);
    for (ValueId v : graph_.outputs) crosses_[v] = true;
    for (ValueId v : kept_values) crosses_[v] = crosses_[v] || graph_.value(v).producer.valid();
    pieces_ = at_kept_values(graph_, result_.cut, kept_values);
    from_extents_ = IndexedVector<ValueId, bool>(crosses_.size(), false);
    for (ValueId v : from_extents_.ids()) from_extents_[v] = follows_from_extents(graph_.value(v));
  }

  Assembly run() {
    do find_work();
    while (add_carriers());
    for (const PlannedCall& call : calls_) add_call(call);
    return std::move(result_);
  }

 private:
  /// Works backwards, because an earlier part outputs only the values that later parts need.
  void find_work() {
    calls_.clear();
    for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
      PlannedCall call = planned_call(*piece);
      if (call.nodes.empty()) continue;
      for (ValueId v : call.inputs) crosses_[v] = true;
      calls_.push_back(std::move(call));
    }
    std::reverse(calls_.begin(), calls_.end());
  }

  PlannedCall planned_call(const GroupPiece& piece) const {
    const std::vector<NodeId>& nodes = piece.nodes;
    const std::set<NodeId> here(nodes.begin(), nodes.end());
    PlannedCall call;
    call.group = piece.group;
    std::set<ValueId> fetched, seen;
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
      const Node& node = graph_.node(*id);
      const bool live = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId v) { return v.valid() && (crosses_[v] || fetched.count(v) != 0); });
      if (!live) continue;
      call.nodes.push_back(*id);
      for (ValueId v : node.inputs)
        if (v.valid() && here.count(graph_.value(v).producer) != 0 && (!from_extents_[v] || crosses_[v]))
          fetched.insert(v);
    }
    std::reverse(call.nodes.begin(), call.nodes.end());
    for (NodeId id : call.nodes) {
      const Node& node = graph_.node(id);
      for (ValueId v : node.inputs) {
        if (!v.valid() || graph_.value(v).is_constant() || fetched.count(v) != 0 || !seen.insert(v).second) continue;
        (from_extents_[v] ? call.computed : call.inputs).push_back(v);
      }
      for (ValueId v : node.outputs)
        if (v.valid() && crosses_[v]) call.outputs.push_back(v);
      for (const std::string& s : node.strings_attribute(kSymbolsAttribute)) call.bound.insert(s);
    }
    return call;
  }

  /// Symbols in the types of the call's inputs and in values computed from extents, except symbols that its own nodes
  /// determine.
  Symbols symbols_needed(const PlannedCall& call) const {
    Symbols needed;
    for (ValueId v : call.inputs) {
      needed.merge(symbols_of(*graph_.value(v).shape));
      if (graph_.value(v).contents) needed.merge(symbols_of(*graph_.value(v).contents));
    }
    for (ValueId v : call.computed) needed.merge(symbols_of(*graph_.value(v).contents));
    for (const std::string& s : call.bound) needed.erase(s);
    return needed;
  }

  /// For each symbol that a call needs and that no earlier value carries, lets a value with this extent cross. False if
  /// there was nothing to add.
  bool add_carriers() {
    result_.symbols.clear();
    Symbols carried, named, missing;
    const auto carry = [&](ValueId v) {
      const Shape& shape = *graph_.value(v).shape;
      for (size_t d = 0; d < shape.size(); ++d)
        if (const auto s = shape[d].symbol_name(); s && carried.insert(*s).second)
          result_.symbols.push_back({*s, v, static_cast<int>(d)});
    };
    const auto add_missing = [&](const Symbols& needed) {
      std::set_difference(needed.begin(), needed.end(), carried.begin(), carried.end(),
                          std::inserter(missing, missing.end()));
    };
    for (ValueId v : graph_.inputs) carry(v);
    for (const PlannedCall& call : calls_) {
      add_missing(symbols_needed(call));
      for (ValueId v : call.outputs) {
        carry(v);
        named.merge(symbols_of(*graph_.value(v).shape));
      }
    }
    add_missing(named);
    if (missing.empty()) return false;
    const std::map<std::string, ValueId> first = carriers(missing);
    for (const auto& [symbol, carrier] : first) {
      GCG_CHECK(!crosses_[carrier], "the extent '", symbol, "' is needed before '", graph_.value(carrier).name, "'");
      missing.erase(symbol);
    }
    for (const auto& [symbol, carrier] : first) crosses_[carrier] = true;
    GCG_CHECK(missing.empty(), "no value has the extent '", *missing.begin(), "'");
    return true;
  }

  /// For each symbol, the first value that has it as extent. A result of the node that determines the symbol is
  /// preferred, because no value with this extent exists earlier.
  std::map<std::string, ValueId> carriers(const Symbols& symbols) const {
    std::map<std::string, ValueId> first;
    Symbols bound;
    for (NodeId id : graph_.order()) {
      const std::vector<std::string> own_symbols = graph_.node(id).strings_attribute(kSymbolsAttribute);
      for (ValueId v : graph_.node(id).outputs) {
        if (!v.valid()) continue;
        for (const Dim& d : *graph_.value(v).shape) {
          const std::string s = d.symbol_name().value_or("");
          if (symbols.count(s) == 0 || bound.count(s) != 0) continue;
          first.emplace(s, v);
          if (std::find(own_symbols.begin(), own_symbols.end(), s) == own_symbols.end()) continue;
          first[s] = v;
          bound.insert(s);
        }
      }
    }
    return first;
  }

  void add_call(const PlannedCall& planned) {
    PartWriter writer(graph_, planned);
    Part part = writer.run(result_.cut.groups[static_cast<size_t>(planned.group)].name, symbols_needed(planned));
    PartCall call;
    call.group = planned.group;
    call.inputs = planned.inputs;
    call.outputs = planned.outputs;
    for (const std::string& s : part.extents) call.extents.push_back(Dim::symbol(s));
    for (NodeId id : planned.nodes) call.nodes.push_back(graph_.node(id).name);
    const size_t known = result_.parts.size();
    call.part = equal_.find_or_add(result_.parts, std::move(part));
    if (result_.parts.size() > known) make_unique(result_.parts.back().graph.name);
    result_.calls.push_back(std::move(call));
  }

  /// A group may have several parts, and the model may have the same name as the group.
  void make_unique(std::string& name) {
    const std::string group = name;
    for (int i = 2; !names_.insert(name).second; ++i) name = concat(group, ", ", i);
  }

  Assembly result_;
  const Graph& graph_ = result_.graph;
  IndexedVector<ValueId, bool> crosses_;
  IndexedVector<ValueId, bool> from_extents_;
  std::vector<GroupPiece> pieces_;
  std::vector<PlannedCall> calls_;
  EqualParts equal_;
  std::set<std::string> names_ = {graph_.name};  // names of entry points
};

}  // namespace

Assembly split(const Graph& graph, Cut cut, const std::vector<ValueId>& kept_values) {
  return Splitter(graph, std::move(cut), kept_values).run();
}

}  // namespace gcg
