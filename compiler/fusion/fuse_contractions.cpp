// Contractions and attention: their epilogues, and the values from which they read their operands.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "compiler/fusion/fuser.h"
#include "compiler/fusion/fusion_costs.h"
#include "compiler/lowering/operand_view.h"
#include "compiler/ops/fused_attention.h"
#include "compiler/ops/op_def.h"

namespace gcg {

namespace {

FusionGroup::Kind kind_of(const Node& anchor) {
  if (anchors_conv(anchor)) return FusionGroup::Kind::conv;
  return anchors_attention(anchor) ? FusionGroup::Kind::attention : FusionGroup::Kind::matmul;
}

/// The values that a kernel computes. The set grows by one reader of these values at a time.
class Growth {
 public:
  using Users = IndexedVector<ValueId, std::vector<NodeId>>;
  using MayFollow = std::function<bool(NodeId, ValueId)>;
  Growth(const Graph& graph, const Users& users, MayFollow may_follow, ValueId first)
      : g_(graph), users_(users), may_follow_(std::move(may_follow)) {
    add(first);
  }

  /// The next node that may be added: the first reader of the first value. Invalid if there is none.
  NodeId next() {
    for (; !candidates_.empty(); candidates_.erase(candidates_.begin()))
      if (const auto& [v, i] = *candidates_.begin(); !taken_.count(users_of(v)[i])) return users_of(v)[i];
    return NodeId();
  }

  void take(NodeId id) {
    taken_.insert(id);
    for (ValueId in : g_.node(id).inputs)
      if (const auto open = open_.find(in); open != open_.end() && --open->second == 0) leaving_.erase(in);
    add(g_.node(id).outputs[0]);
  }

  /// Values that are read outside, or that are outputs of the graph.
  const std::set<ValueId>& leaving() const { return leaving_; }

 private:
  const std::vector<NodeId>& users_of(ValueId v) const { return users_[v]; }

  void add(ValueId v) {
    const auto& readers = users_of(v);
    size_t open = g_.is_output(v) ? 1 : 0;
    for (size_t i = 0; i < readers.size(); ++i) {
      if (taken_.count(readers[i])) continue;
      ++open;
      if (may_follow_(readers[i], v)) candidates_.insert({v, i});
    }
    open_[v] = open;
    if (open > 0) leaving_.insert(v);
  }

  const Graph& g_;
  const Users& users_;
  const MayFollow may_follow_;
  std::set<NodeId> taken_;
  std::set<std::pair<ValueId, size_t>> candidates_;  // a value and the number of its reader
  std::map<ValueId, size_t> open_;                   // by value: reads from outside, including as the graph's output
  std::set<ValueId> leaving_;
};

}  // namespace

void Fuser::absorb_epilogue(NodeId anchor) {
  std::vector<NodeId> chain;
  size_t best = 0;  // length of the chain in nodes
  ValueId result = node(anchor).outputs[0];
  const auto& users = users_of();
  // Every input of an added node is in the set or is ready before the set runs. If an input outside of the set depended
  // on the set, more than one value would leave the set.
  Growth growth(g_, users, [&](NodeId id, ValueId v) { return may_follow(id, v); }, result);
  double room = kMostCost / 2;
  for (;;) {
    const NodeId next = growth.next();
    if (!next.valid()) break;
    room -= cost(node(next));
    if (room < 0) break;
    chain.push_back(next);
    growth.take(next);
    if (growth.leaving().size() == 1) {
      best = chain.size();
      result = *growth.leaving().begin();
    }
  }
  FusionGroup group;
  group.kind = kind_of(node(anchor));
  group.anchor = anchor;
  chain.resize(best);
  group.epilogue = chain;
  std::sort(group.epilogue.begin(), group.epilogue.end(),
            [&](NodeId a, NodeId b) { return position_[a] < position_[b]; });
  if (NodeId t = row_keeping_transpose(result, users); t.valid()) {
    group.transpose = t;
    chain.push_back(t);
    result = node(t).outputs[0];
  }
  group.result = group.storage = result;
  const int id = new_group(group);
  node_group_[anchor] = id;
  for (NodeId n : chain) node_group_[n] = id;
  out_.materialized[result] = true;
}

NodeId Fuser::row_keeping_transpose(ValueId v, const Users& users) const {
  const auto& us = users[v];
  if (us.size() != 1 || g_.is_output(v) || !is_transpose(node(us[0]))) return NodeId();
  const auto perm = node(us[0]).ints_attribute("perm");
  return !perm.empty() && perm.back() == static_cast<int64_t>(perm.size()) - 1 ? us[0] : NodeId();
}

const Fuser::Users& Fuser::users_of() {
  if (users_.empty() && g_.value_count() > 0) {
    users_ = Users(values_of(g_));
    for (NodeId id : order_)
      if (live(id))
        for (ValueId in : node(id).inputs)
          if (in.valid()) users_[in].push_back(id);
  }
  return users_;
}

bool Fuser::in_epilogues(DType dtype) const {
  const bool quantized = dtype == DType::i32 || dtype == DType::u8 || dtype == DType::i8;
  const bool half = dtype == DType::f16 || dtype == DType::bf16;
  return dtype == DType::f32 || (dtype == DType::f64 && traits_.multiplies_doubles) ||
         (quantized && traits_.multiplies_integers) || (half && traits_.narrows_results);
}

bool Fuser::fits_epilogues(const Node& n) const {
  return n.op->kind == OpKind::pointwise && n.outputs.size() == 1 && in_epilogues(value(n.outputs[0]).dtype) &&
         std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId in) {
           return !in.valid() || in_epilogues(value(in).dtype) || value(in).dtype == DType::boolean;
         });
}

bool Fuser::may_follow(NodeId id, ValueId v) const {
  const Node& n = node(id);
  return fits_epilogues(n) && node_group_[id] < 0 && same_extents(n.outputs[0], v);
}

void Fuser::decide_contraction(NodeId id, const FusionGroup& group) {
  const Node& n = node(id);
  const int number = node_group_[id];
  if (id == group.transpose) return;
  const bool is_attention = group.kind == FusionGroup::Kind::attention;
  const size_t read = is_attention ? size_t{kFusedAttentionKept} : n.inputs.size();
  const size_t operands = id == group.anchor ? read : 0;
  // The walk stops at movement nodes that another group computes, and at a Transpose that another product applies when
  // it stores its result.
  const auto is_seen_through = [&](NodeId m) { return node_group_[m] < 0; };
  for (size_t i = 0; i < operands; ++i) {
    const ValueId in = n.inputs[i];
    if (!in.valid() || value(in).is_constant()) continue;
    // 8-bit elements are read four at a time, so their rows must be contiguous.
    const bool whole_rows = value(in).dtype != DType::f32 && value(in).dtype != DType::f64;
    const ValueId source = anchors_conv(n) ? in : strided_source(g_, in, is_seen_through, whole_rows);
    out_.operand_sources[{id, static_cast<int>(i)}] = source;
    use(source).must = true;
  }
  const Graph& computed_in = id == group.anchor && is_attention ? *n.bodies[0] : g_;
  const ValueId computed = &computed_in == &g_ ? n.outputs[0] : computed_in.inputs[0];
  for (size_t i = operands; i < n.inputs.size(); ++i)
    if (reads(n.inputs[i]) && node_group_of(n.inputs[i]) != number)
      read_in_epilogue(n.inputs[i], number, product(*computed_in.value(computed).shape));
}

void Fuser::read_in_epilogue(ValueId in, int id, const Dim& elements) {
  Use& u = use(in);
  u.groups.insert(id);
  u.contexts.insert(0);
  u.in_epilogue = true;
  u.broadcast |= !(product(*value(in).shape) == elements);
}

int Fuser::node_group_of(ValueId v) const {
  const NodeId p = value(v).producer;
  return p.valid() ? node_group_[p] : -1;
}

}  // namespace gcg
