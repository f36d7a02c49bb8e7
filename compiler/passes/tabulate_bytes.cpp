#include "compiler/passes/tabulate_bytes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"
#include "compiler/reference/interpreter.h"

namespace gcg {
namespace {

constexpr size_t kMostNodes = 32;

bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

/// The pointwise operators that compute a value, and the bytes that they start from.
struct Cone {
  std::set<ValueId> bytes;
  std::set<NodeId> nodes;
};

/// Adds the nodes that compute `v` from bytes of the given shape. Returns false if a node is not pointwise, a value has
/// another shape, or there are too many nodes.
bool collect(const Rewriter& r, ValueId v, const Shape& shape, Cone& cone) {
  const Value& value = r.value(v);
  if (!value.producer.valid()) return false;
  const Node& n = r.graph.node(value.producer);
  if (n.op->kind != OpKind::pointwise || n.outputs.size() != 1 || value.shape != shape) return false;
  if (!cone.nodes.insert(value.producer).second) return true;
  return cone.nodes.size() <= kMostNodes && std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId in) {
           if (!in.valid()) return true;
           const Value& x = r.value(in);
           if (x.is_constant()) return x.constant->elements() == 1;
           if (!is_byte(x.dtype) || x.shape != shape) return collect(r, in, shape, cone);
           cone.bytes.insert(in);
           return true;
         });
}

/// If a byte of the cone follows from the cone's other bytes, replaces it by the nodes that compute it. Returns false
/// if there is no such byte.
bool take_in_one(const Rewriter& r, const Shape& shape, Cone& cone) {
  for (const ValueId byte : cone.bytes) {
    Cone inner;
    if (!collect(r, byte, shape, inner) || inner.bytes.count(byte) != 0) continue;
    if (!std::includes(cone.bytes.begin(), cone.bytes.end(), inner.bytes.begin(), inner.bytes.end())) continue;
    cone.nodes.merge(inner.nodes);
    cone.bytes.erase(byte);
    return true;
  }
  return false;
}

/// The operators between a byte and the only byte that it depends on.
struct Chain {
  ValueId from, to;
  std::set<NodeId> nodes;
};

std::optional<Chain> chain_to(const Rewriter& r, ValueId to) {
  const Value& y = r.value(to);
  Cone cone;
  if (!is_byte(y.dtype) || !y.shape || !collect(r, to, *y.shape, cone)) return std::nullopt;
  while (cone.bytes.size() > 1)
    if (!take_in_one(r, *y.shape, cone)) return std::nullopt;
  const auto is_expensive = [&](NodeId id) { return r.graph.node(id).op->cost() == Cost::expensive; };
  if (cone.bytes.empty() || std::none_of(cone.nodes.begin(), cone.nodes.end(), is_expensive)) return std::nullopt;
  return Chain{*cone.bytes.begin(), to, std::move(cone.nodes)};
}

/// The chain's result for each value of the byte, indexed by the byte's bits.
Tensor table_of(const Rewriter& r, const Chain& chain) {
  Graph g;
  std::map<ValueId, ValueId> known;
  Tensor bytes(r.value(chain.from).dtype, {256});
  std::iota(bytes.mutable_data(), bytes.mutable_data() + 256, uint8_t{0});
  known[chain.from] = g.add_value({.name = "byte", .dtype = bytes.dtype(), .shape = Shape{256}});
  g.inputs = {known[chain.from]};
  for (NodeId id : r.graph.order()) {
    if (chain.nodes.count(id) == 0) continue;
    const Node& n = r.graph.node(id);
    std::vector<ValueId> inputs;
    for (ValueId in : n.inputs) {
      if (in.valid() && known.count(in) == 0) known[in] = g.add_constant("constant", *r.value(in).constant);
      inputs.push_back(in.valid() ? known[in] : ValueId());
    }
    const NodeId copy = g.add_node(*n.op, n.name, inputs, 1, n.attributes);
    known[n.outputs[0]] = g.node(copy).outputs[0];
  }
  g.outputs = {known.at(chain.to)};
  infer_graph(g);
  return interpret(g, {bytes})[0];
}

}  // namespace

bool tabulate_bytes(Graph& graph) {
  return edit_all(graph, [](Rewriter& r) {
    bool changed = false;
    std::vector<NodeId> order = r.graph.order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (r.graph.node(*it).erased || r.graph.node(*it).op->kind != OpKind::pointwise) continue;
      r.erase_if_dead(*it);  // removed chains may have read this value
      if (r.graph.node(*it).erased) continue;
      const auto chain = chain_to(r, r.graph.node(*it).outputs[0]);
      if (!chain) continue;
      const std::string name = r.graph.node(*it).name;
      const ValueId table = r.add_constant(name + ".table", table_of(r, *chain));
      if (!r.replace(chain->to, r.add(op_gart_LookUp, name, {table, chain->from}))) continue;
      r.erase_if_dead(*it);
      changed = true;
    }
    return changed;
  });
}

}  // namespace gcg
