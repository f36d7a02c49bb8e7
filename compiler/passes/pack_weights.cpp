#include "compiler/passes/pack_weights.h"

#include <algorithm>
#include <map>

#include "compiler/ir/deferred.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/pack_panels.h"
#include "compiler/kernel/packing.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

bool worth_packing(const Value& b) {
  return b.is_constant() && b.dtype == DType::f32 && b.constant->rank() == 2 &&
         b.constant->elements() >= kLeastPackedElements;
}

/// Bytes of all constants that are read, subgraphs included.
int64_t constant_bytes(const Graph& graph) {
  int64_t bytes = 0;
  const std::vector<std::vector<NodeId>> users = graph.users();
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (const Value& v = graph.value(ValueId(i)); v.is_constant() && !users[static_cast<size_t>(i)].empty())
      bytes += v.constant->bytes();
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) bytes += constant_bytes(*body);
  return bytes;
}

/// True if one constant is the other's transposition.
bool are_transposed(const Tensor& a, const Tensor& b) {
  const auto from = [](const Tensor& t, const Tensor& source) {
    return t.rearrangement() && t.rearrangement()->op == &op("Transpose") && t.rank() == 2 &&
           t.rearrangement()->source->shape() == source.shape() && same_elements(*t.rearrangement()->source, source);
  };
  return from(a, b) || from(b, a);
}

/// Replaces a Gather of rows of a constant [n, k] by reads of the packed matrix [k, n].
/// `packed`: the packed value of each matrix.
bool read_packed_rows(Graph& graph, const std::map<ValueId, ValueId>& packed) {
  const std::vector<std::vector<NodeId>> users = graph.users();
  const auto gathers_rows = [&](NodeId id, ValueId table) {
    const Node& n = graph.node(id);
    return n.op == &op("Gather") && n.inputs[1] != table &&
           (n.int_attribute("axis", 0) == 0 || n.int_attribute("axis", 0) == -2);
  };
  bool changed = false;
  for (const auto& [matrix, panels] : packed)
    for (int64_t i = 0; i < static_cast<int64_t>(users.size()); ++i) {
      const ValueId table(i);
      const std::vector<NodeId>& readers = users[static_cast<size_t>(i)];
      const Value& v = graph.value(table);
      if (!worth_packing(v) || v.constant->shape()[0] < kLeastPackedRows || readers.empty() || graph.is_output(table) ||
          !std::all_of(
              readers.begin(), readers.end(), [&](NodeId id) { return gathers_rows(id, table); }) ||
          !are_transposed(*v.constant, *graph.value(matrix).constant))
        continue;
      const std::vector<int64_t>& shape = v.constant->shape();
      for (NodeId id : readers) {
        Node& node = graph.node(id);
        node.op = &op("PackedRows", "gart");
        node.inputs[0] = panels;
        node.attributes = {{"k", shape[1]}, {"n", shape[0]}, {"columns", kPanelColumns}};
      }
      changed = true;
    }
  return changed;
}

bool pack(Graph& graph, Graph& outermost, bool near) {
  const OpDef &matmul = op("MatMul"), &pack_op = op("PackMatMul", "gart"), &packed_op = op("PackedMatMul", "gart");
  std::map<ValueId, ValueId> packed;  // a matrix that several nodes share is packed once
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (const auto& body : graph.node(id).bodies) changed |= pack(*body, outermost, near);
    if (graph.node(id).op != &matmul) continue;
    const ValueId b = graph.node(id).inputs[1];
    if (!worth_packing(graph.value(b))) continue;
    if (packed.count(b) == 0) {
      const NodeId packing = graph.add_node(pack_op, graph.value(b).name, {b}, 1, {{"columns", kPanelColumns}});
      infer_node(graph, packing, outermost);
      packed[b] = graph.node(packing).outputs[0];
    }
    const std::vector<int64_t>& shape = graph.value(b).constant->shape();
    Node& node = graph.node(id);
    node.op = &packed_op;
    node.inputs[1] = packed[b];
    node.attributes = {{"k", shape[0]}, {"n", shape[1]}, {"columns", kPanelColumns}};
    if (near) node.attributes["near"] = int64_t{1};
    changed = true;
  }
  return read_packed_rows(graph, packed) || changed;
}

}  // namespace

bool pack_weights(Graph& graph, const Target& target) {
  return pack(graph, graph, constant_bytes(graph) <= machine_of(target).near_bytes);
}

}  // namespace gcg
