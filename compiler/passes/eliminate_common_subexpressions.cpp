#include "compiler/passes/eliminate_common_subexpressions.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/ir/deferred.h"
#include "compiler/ops/op_def.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

/// The key of a larger constant holds only samples. Different weights nearly always differ in these, so their other
/// bytes need not be read.
constexpr int64_t kWholeBytes = int64_t{64} * 1024;
constexpr int64_t kSamples = 64, kSampleBytes = 8;

using AttributeKey = std::map<std::string, Attribute>;  // tensors are compared by address
using NodeKey = std::tuple<const OpDef*, std::vector<ValueId>, AttributeKey>;
using ConstantKey = std::tuple<DType, std::vector<int64_t>, std::string>;

std::string samples(const Tensor& t) {
  if (t.deferred()) {
    const Recipe& recipe = t.deferred()->recipe();
    std::string result = recipe.op->name;
    for (const TensorRef& input : recipe.inputs) result += samples(*input);
    return result;
  }
  const auto* bytes = reinterpret_cast<const char*>(t.data());
  if (t.bytes() <= kWholeBytes) return {bytes, static_cast<size_t>(t.bytes())};
  std::string result;
  for (int64_t i = 0; i < kSamples; ++i)
    result.append(bytes + (t.bytes() - kSampleBytes) * i / (kSamples - 1), static_cast<size_t>(kSampleBytes));
  return result;
}

bool merge_constants(Rewriter& r) {
  std::map<ConstantKey, std::vector<ValueId>> known;
  bool changed = false;
  const std::vector<std::vector<NodeId>> users = r.graph.users();
  for (int64_t i = 0; i < static_cast<int64_t>(users.size()); ++i) {
    const ValueId v(i);
    if (!r.value(v).is_constant() || users[static_cast<size_t>(i)].empty()) continue;
    const Tensor& t = *r.value(v).constant;
    std::vector<ValueId>& alike = known[{t.dtype(), t.shape(), samples(t)}];
    const auto equal = std::find_if(alike.begin(), alike.end(),
                                    [&](ValueId other) { return same_elements(*r.value(other).constant, t); });
    if (equal == alike.end())
      alike.push_back(v);
    else
      changed |= r.replace(v, *equal);
  }
  return changed;
}

/// True if outputs of `other` can replace those of `node`.
bool covers(const Node& other, const Node& node) {
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i].valid() && (i >= other.outputs.size() || !other.outputs[i].valid())) return false;
  return true;
}

bool merge_nodes(Rewriter& r) {
  std::map<NodeKey, NodeId> first;
  bool changed = false;
  for (NodeId id : r.graph.order()) {
    const Node& node = r.graph.node(id);
    if (!node.bodies.empty() || node.has_attribute(kSymbolsAttribute)) continue;
    const auto [it, fresh] = first.try_emplace(NodeKey{node.op, node.inputs, node.attributes}, id);
    if (fresh || !covers(r.graph.node(it->second), node)) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) changed |= r.replace(node.outputs[i], r.graph.node(it->second).outputs[i]);
    r.erase_if_dead(id);  // a node stays if its output must keep its name
  }
  return changed;
}

/// Merges values with the same known elements: lengths that the model computes from several tensors.
bool merge_contents(Rewriter& r) {
  std::map<std::tuple<DType, Shape, std::vector<Dim>>, ValueId> first;
  bool changed = false;
  for (NodeId id : r.graph.order()) {
    for (ValueId v : std::vector<ValueId>(r.graph.node(id).outputs)) {
      if (!v.valid() || !r.value(v).contents || !r.value(v).shape) continue;
      const Value& value = r.value(v);
      const auto [it, fresh] = first.try_emplace({value.dtype, *value.shape, *value.contents}, v);
      if (!fresh && r.is_read(v)) changed |= r.replace(v, it->second);
    }
  }
  return changed;
}

}  // namespace

bool eliminate_common_subexpressions(Graph& graph) {
  return edit_all(graph, [](Rewriter& r) {
    const bool constants = merge_constants(r), contents = merge_contents(r);
    return merge_nodes(r) || constants || contents;
  });
}

}  // namespace gcg
