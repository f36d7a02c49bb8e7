#include "compiler/import/separate_names.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/stretch.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// A dimension of an input that is exactly one symbol.
struct Carrier {
  ValueId input;
  size_t axis;
};

using Carriers = std::map<std::string, std::vector<Carrier>>;  // by name

Carriers carriers_of(const Graph& graph) {
  Carriers all;
  for (ValueId in : graph.inputs) {
    const auto& shape = graph.value(in).shape;
    for (size_t d = 0; shape && d < shape->size(); ++d)
      if (const auto name = (*shape)[d].symbol_name()) all[*name].push_back({in, d});
  }
  std::erase_if(all, [](const auto& entry) { return entry.second.size() < 2; });
  return all;
}

void collect_symbols(const Graph& graph, std::set<std::string>& names) {
  for (int64_t i = 0; i < graph.value_count(); ++i) {
    const Value& v = graph.value(ValueId(i));
    for (const auto* dims : {v.shape ? &*v.shape : nullptr, v.contents ? &*v.contents : nullptr})
      if (dims != nullptr)
        for (const Dim& d : *dims) names.merge(d.symbols());
  }
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) collect_symbols(*body, names);
}

/// Makes new symbols.
class Names {
 public:
  explicit Names(const Graph& graph) { collect_symbols(graph, taken_); }

  std::string fresh(const std::string& base) {
    for (int k = 1;; ++k)
      if (std::string name = concat(base, "_", k); taken_.insert(name).second) return name;
  }

 private:
  std::set<std::string> taken_;
};

// ---- Inputs that only branches read ---------------------------------------------------------------------------------

/// The branches (If, branch number) that read a value of the outermost graph; nullopt if another node reads it, too.
using Branches = std::set<std::pair<int64_t, size_t>>;

bool is_read(const Graph& body, ValueId v) {
  if (body.is_output(v)) return true;
  for (NodeId id : body.order())
    for (ValueId in : body.node(id).inputs)
      if (in == v) return true;
  return false;
}

std::optional<Branches> reading_branches(const Graph& graph, ValueId v) {
  if (graph.is_output(v)) return std::nullopt;
  Branches all;
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] != v) continue;
      if (n.op != &op("If") || i == 0) return std::nullopt;
      for (size_t b = 0; b < n.bodies.size(); ++b)
        if (is_read(*n.bodies[b], n.bodies[b]->inputs[i - 1])) all.insert({id.index, b});
    }
  }
  return all;
}

/// Gives the value its old extents in all branches that read it.
void agree_in_branches(Graph& graph, ValueId v, const Shape& extents) {
  for (NodeId id : graph.order()) {
    Node& n = graph.node(id);
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      if (n.inputs[i] != v) continue;
      for (const auto& body : n.bodies) {
        const ValueId inner = body->inputs[i - 1];
        if (!is_read(*body, inner)) continue;
        Node agree = agree_node(n.name, inner, extents);
        Value y;
        y.name = body->unique_name(body->value(inner).name);
        const ValueId result = body->add_value(std::move(y));
        body->replace_uses(inner, result);
        agree.outputs = {result};
        body->add_node(std::move(agree));
      }
    }
  }
}

/// Adds the new symbols to `separated`.
void separate_branches(Graph& graph, Names& names, std::map<std::string, std::string>& separated) {
  const Carriers carriers = carriers_of(graph);
  std::map<ValueId, Shape> former;
  for (const auto& [name, dims] : carriers) {
    std::map<Branches, std::string> symbols;
    // The branches that read the first dimension that keeps the name; nullopt if another node reads it.
    std::optional<Branches> owner;
    const bool has_main =
        std::any_of(dims.begin(), dims.end(), [&](const Carrier& c) { return !reading_branches(graph, c.input); });
    for (const Carrier& c : dims) {
      const auto branches = reading_branches(graph, c.input);
      if (!branches) continue;
      if (!has_main && !owner) owner = branches;
      if (owner == branches) continue;
      auto [it, fresh] = symbols.try_emplace(*branches);
      if (fresh) separated[it->second = names.fresh(name)] = name;
      Shape& shape = *graph.value(c.input).shape;
      former.try_emplace(c.input, shape);
      shape[c.axis] = Dim::symbol(it->second);
    }
  }
  for (const auto& [input, extents] : former) agree_in_branches(graph, input, extents);
}

// ---- Dimensions that never meet -------------------------------------------------------------------------------------

/// Finds which new symbols the model needs to be equal, in a graph where each dimension has its own.
class Meetings {
 public:
  explicit Meetings(std::map<std::string, std::string> base) : base_(std::move(base)) {
    for (const auto& [symbol, name] : base_) old_[symbol] = Dim::symbol(name);
  }

  void see(const Graph& graph) {
    for (const DimConstraint& c : graph.constraints)
      if (c.a.substitute(old_) == c.b.substitute(old_)) unite(c.a, c.b);
    for (int64_t i = 0; i < graph.value_count(); ++i) {
      const Value& v = graph.value(ValueId(i));
      for (const auto* dims : {v.shape ? &*v.shape : nullptr, v.contents ? &*v.contents : nullptr})
        if (dims != nullptr)
          for (const Dim& d : *dims) see(d);
    }
    for (NodeId id : graph.order())
      for (const auto& body : graph.node(id).bodies) see(*body);
  }

  /// The symbol that represents all symbols equal to this one.
  std::string root(std::string symbol) const {
    for (auto it = root_.find(symbol); it != root_.end(); it = root_.find(symbol)) symbol = it->second;
    return symbol;
  }

 private:
  /// Unites symbols if a quotient or difference in `d` would be simpler with equal extents.
  void see(const Dim& d) {
    if (d.symbols().size() > 1 && d.substitute(old_).terms().size() < d.terms().size()) unite(d, d);
    for (const auto& [monomial, coefficient] : d.terms())
      for (const Dim::AtomRef& atom : monomial) {
        if (atom->kind == Dim::AtomKind::symbol) continue;
        if (atom->kind == Dim::AtomKind::floor_div || atom->kind == Dim::AtomKind::mod) unite(atom->a, atom->b);
        see(atom->a);
        see(atom->b);
      }
  }

  void unite(const Dim& a, const Dim& b) {
    std::set<std::string> all = a.symbols();
    all.merge(b.symbols());
    std::map<std::string, std::string> first;  // by name
    for (const std::string& symbol : all) {
      const auto known = base_.find(symbol);
      if (known == base_.end()) continue;
      const auto [it, fresh] = first.try_emplace(known->second, symbol);
      if (fresh) continue;
      const std::string x = root(it->second), y = root(symbol);
      // The symbol with the declared name stays the root.
      if (x != y) root_[y == known->second ? x : y] = y == known->second ? y : x;
    }
  }

  std::map<std::string, std::string> base_;  // symbol -> the dimension's name
  std::map<std::string, Dim> old_;
  std::map<std::string, std::string> root_;
};

/// False if inference does not yet know where extents meet: in sequences, and in values of unknown rank.
bool all_typed(const Graph& graph) {
  for (NodeId id : graph.order()) {
    for (ValueId out : graph.node(id).outputs)
      if (out.valid() && !graph.value(out).shape) return false;
    for (const auto& body : graph.node(id).bodies)
      if (!all_typed(*body)) return false;
  }
  return true;
}

// The least number of inputs with equal declarations that count as the caches of a decoder's layers.
constexpr int kCaches = 4;

void separate_strangers(Graph& graph, Names& names, std::map<std::string, std::string>& separated) {
  const Carriers carriers = carriers_of(graph);
  if (carriers.empty() || !all_typed(graph)) return;
  Graph trial = graph.clone();
  std::map<std::string, std::string> base;
  std::map<std::string, std::vector<std::string>> own;  // by name: the symbol of each carrier
  for (const auto& [name, dims] : carriers) {
    const auto declared = [&](const Carrier& c) { return std::pair(str(*graph.value(c.input).shape), c.axis); };
    // By declaration: the number of carriers, and their common symbol.
    std::map<std::pair<std::string, size_t>, std::pair<int, std::string>> alike;
    for (const Carrier& c : dims) ++alike[declared(c)].first;
    for (size_t i = 0; i < dims.size(); ++i) {
      auto& [count, common] = alike[declared(dims[i])];
      std::string symbol = common;
      if (symbol.empty()) symbol = i == 0 ? name : names.fresh(name);
      if (count >= kCaches) common = symbol;
      own[name].push_back(symbol);
      base[symbol] = name;
      (*trial.value(dims[i].input).shape)[dims[i].axis] = Dim::symbol(symbol);
    }
  }
  trial.constraints.clear();
  infer_graph(trial);
  Meetings meetings(base);
  meetings.see(trial);
  for (const auto& [name, dims] : carriers)
    for (size_t i = 0; i < dims.size(); ++i) {
      const std::string symbol = meetings.root(own[name][i]);
      if (symbol == name) continue;
      (*graph.value(dims[i].input).shape)[dims[i].axis] = Dim::symbol(symbol);
      const auto from = separated.find(name);
      separated[symbol] = from == separated.end() ? name : from->second;
    }
}

}  // namespace

std::map<std::string, std::string> separate_names(Graph& graph) {
  if (carriers_of(graph).empty()) return {};
  Names names(graph);
  Graph changed = graph.clone();
  try {
    std::map<std::string, std::string> separated;
    separate_branches(changed, names, separated);
    separate_strangers(changed, names, separated);
    if (separated.empty()) return {};
    changed.constraints.clear();
    infer_graph(changed);
    graph = std::move(changed);
    return separated;
  } catch (const InternalError&) {
    throw;
  } catch (const CompileError&) {  // the model needs equal extents for some name, so all names stay
    return {};
  }
}

}  // namespace gcg
