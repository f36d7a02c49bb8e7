#include "compiler/plan/extent_binder.h"

#include <algorithm>

#include "compiler/ops/data_extent.h"
#include "compiler/ops/op_def.h"
#include "compiler/plan/bind_extents.h"
#include "compiler/plan/extent_symbols.h"

namespace gcg {
namespace {

std::set<std::string> own_symbols(const Node& n) {
  const std::vector<std::string> names = n.strings_attribute(kSymbolsAttribute);
  return {names.begin(), names.end()};
}

void add_bind(Graph& graph, const std::string& name, std::vector<ValueId> values, std::vector<std::string> symbols) {
  graph.add_node(op("Bind", "gart"), name, std::move(values), 0, {{"symbols", std::move(symbols)}});
}

Value number_type(std::string name) {
  Value v;
  v.name = std::move(name);
  v.dtype = DType::i64;
  v.shape = Shape{};
  return v;
}

/// The symbol of the extent in the next iteration.
std::string next_of(const std::string& symbol) { return symbol + "_next"; }

/// True if the value is the result of an If, which has its own memory.
bool is_of_branches(const Graph& graph, ValueId v) {
  const NodeId producer = graph.value(v).producer;
  if (!producer.valid()) return false;
  const Node& n = graph.node(producer);
  return n.op == &op("If") || (n.op->kind == OpKind::view && is_of_branches(graph, n.inputs[0]));
}

template <class T>
void insert_at(std::vector<T>& list, size_t at, T value) {
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), std::move(value));
}

}  // namespace

void ExtentBinder::run() {
  for (NodeId id : graph_.order()) {
    for (size_t i = 0; i < graph_.node(id).bodies.size(); ++i) ExtentBinder(*graph_.node(id).bodies[i]).run();
    const Node& n = graph_.node(id);
    if (n.op->data_extent != nullptr && n.has_attribute(kSymbolsAttribute)) bind_results(id);
    if (n.op == &op("If")) bind_branches(id);
    if (n.op == &op("Loop")) bind_states(id);
  }
}

ValueId ExtentBinder::add_number(Graph& graph, Node node, const std::string& name) {
  node.outputs = {graph.add_value(number_type(graph.unique_name(name)))};
  const ValueId number = node.outputs[0];
  graph.add_node(std::move(node));
  return number;
}

ValueId ExtentBinder::renamed(Graph& graph, const std::string& name, ValueId x, const Shape& extents) {
  Node node = with_extents_node(name, x, extents);
  Value value = graph.value(x);
  value.name = graph.unique_name(value.name);
  value.producer = NodeId();
  value.constant = nullptr;
  value.contents.reset();
  value.shape = extents;
  node.outputs = {graph.add_value(std::move(value))};
  const ValueId result = node.outputs[0];
  graph.add_node(std::move(node));
  return result;
}

void ExtentBinder::bind(Graph& graph, const std::string& name, const std::string& symbol, const Dim& to) {
  add_bind(graph, name, {add_number(graph, dim_value_node(name, to), symbol)}, {symbol});
}

void ExtentBinder::bind_results(NodeId id) {
  const std::vector<std::string> symbols = graph_.node(id).strings_attribute(kSymbolsAttribute);
  std::vector<ValueId> values;
  for (size_t k = 0; k < symbols.size(); ++k)
    values.push_back(add_number(graph_, extent_node(graph_.node(id), static_cast<int>(k)), symbols[k]));
  add_bind(graph_, graph_.node(id).name, values, symbols);
}

void ExtentBinder::bind_branches(NodeId id) {
  const Node& n = graph_.node(id);
  const std::set<std::string> differ = own_symbols(n);
  std::vector<std::vector<std::string>> inside;
  for (const auto& body : n.bodies) inside.push_back(run_bound_symbols(*body));
  for (size_t b = 0; b < n.bodies.size(); ++b) {
    Graph& body = *n.bodies[b];
    std::set<std::string> bound(inside[b].begin(), inside[b].end());
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      if (!n.outputs[o].valid()) continue;
      const Shape outside = *graph_.value(n.outputs[o]).shape, here = *body.value(body.outputs[o]).shape;
      for (size_t d = 0; d < outside.size(); ++d)
        if (const auto symbol = outside[d].symbol_name();
            symbol && differ.count(*symbol) != 0 && bound.insert(*symbol).second)
          bind(body, n.name, *symbol, here[d]);
      // An If cannot write to a buffer whose size is known only after the If, so its result is copied there.
      if (here != outside && is_of_branches(body, body.outputs[o]))
        body.outputs[o] = renamed(body, n.name, body.outputs[o], outside);
    }
    // A branch that cannot be computed gets the types of the other branch.
    const auto& other = inside[1 - b];
    for (ValueId out : n.outputs) {
      if (!out.valid()) continue;
      for (const Dim& d : *graph_.value(out).shape)
        for (const std::string& symbol : d.symbols())
          if (std::find(other.begin(), other.end(), symbol) != other.end() && bound.insert(symbol).second)
            bind(body, n.name, symbol, 0);
    }
  }
}

std::vector<ExtentBinder::OpenDim> ExtentBinder::open_dims(const Node& loop) const {
  const Graph& body = *loop.bodies[0];
  const std::set<std::string> loop_symbols = own_symbols(loop);
  std::vector<OpenDim> open;
  for (size_t i = 0; i + 2 + static_cast<size_t>(loop.captures) < body.inputs.size(); ++i) {
    const Shape& shape = *body.value(body.inputs[2 + i]).shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (const auto symbol = shape[d].symbol_name(); symbol && loop_symbols.count(*symbol) != 0)
        open.push_back({i, d, *symbol, {}});
  }
  return open;
}

void ExtentBinder::bind_states(NodeId id) {
  std::vector<OpenDim> open = open_dims(graph_.node(id));
  if (open.empty()) return;
  const std::string name = graph_.node(id).name;
  Graph& body = *graph_.node(id).bodies[0];
  for (size_t k = 0; k < open.size();) {  // all open dimensions of one value
    const size_t i = open[k].value;
    const Shape inside = *body.value(body.inputs[2 + i]).shape;
    Shape next = *body.value(body.outputs[1 + i]).shape;
    for (; k < open.size() && open[k].value == i; ++k) {
      carry_number(id, open[k]);
      next[open[k].dim] = Dim::symbol(next_of(open[k].symbol));
    }
    ValueId& begin = graph_.node(id).inputs[2 + i];
    begin = renamed(graph_, name, begin, inside);
    body.outputs[1 + i] = renamed(body, name, body.outputs[1 + i], next);
  }
  rename_results(id, open);
}

void ExtentBinder::carry_number(NodeId id, OpenDim& open) {
  Node& n = graph_.node(id);
  Graph& body = *n.bodies[0];
  const size_t carried = body.inputs.size() - 2 - static_cast<size_t>(n.captures);
  const std::string next = next_of(open.symbol);
  const Dim first = (*graph_.value(n.inputs[2 + open.value]).shape)[open.dim];
  const ValueId begin = add_number(graph_, dim_value_node(n.name, first), open.symbol);
  add_bind(graph_, n.name, {begin}, {open.symbol});
  const ValueId end =
      add_number(body, dim_value_node(n.name, (*body.value(body.outputs[1 + open.value]).shape)[open.dim]), next);
  add_bind(body, n.name, {end}, {next});
  insert_at(n.inputs, 2 + carried, begin);
  insert_at(body.inputs, 2 + carried, body.add_value(number_type(body.unique_name(open.symbol))));
  insert_at(body.outputs, 1 + carried, end);
  Value last = number_type(graph_.unique_name(open.symbol));
  last.producer = id;
  open.last = graph_.add_value(std::move(last));
  if (n.outputs.size() < carried) n.outputs.resize(carried);
  insert_at(n.outputs, carried, open.last);
  for (size_t o = carried; o < n.outputs.size(); ++o)
    if (n.outputs[o].valid()) graph_.value(n.outputs[o]).output_index = static_cast<int>(o);
  std::vector<std::string> rebinds = n.strings_attribute(kRebindsAttribute);
  rebinds.push_back(open.symbol);
  n.attributes[kRebindsAttribute] = std::move(rebinds);
}

/// The Loop's own results have the subgraph's extents; the graph's values get their extents after the Loop.
void ExtentBinder::rename_results(NodeId id, const std::vector<OpenDim>& open) {
  const std::set<std::string> loop_symbols = own_symbols(graph_.node(id));
  std::set<size_t> renamed;
  for (const OpenDim& o : open) {
    Node& n = graph_.node(id);
    const ValueId result = n.outputs[o.value];
    if (!result.valid()) continue;
    const Value value = graph_.value(result);
    if (renamed.insert(o.value).second) {
      Value inner = value;
      inner.name = graph_.unique_name(value.name);
      inner.contents.reset();
      inner.shape = n.bodies[0]->value(n.bodies[0]->inputs[2 + o.value]).shape;
      n.outputs[o.value] = graph_.add_value(std::move(inner));
      Node copy = with_extents_node(n.name, n.outputs[o.value], *value.shape);
      copy.outputs = {result};
      graph_.value(result).producer = NodeId();
      graph_.add_node(std::move(copy));
    }
    if (const auto symbol = (*value.shape)[o.dim].symbol_name(); symbol && loop_symbols.count(*symbol) != 0)
      add_bind(graph_, graph_.node(id).name, {o.last}, {*symbol});
  }
}

Graph bind_extents(const Graph& graph) {
  Graph out = graph.clone();
  ExtentBinder(out).run();
  return out;
}

}  // namespace gcg
