// Contractions and attention: what they take in after them, and where their operands are read.
#include <algorithm>
#include <iterator>

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

}  // namespace

void Fuser::absorb_epilogue(NodeId anchor) {
  const ValueId out = node(anchor).outputs[0];
  std::vector<NodeId> chain, best;
  std::set<ValueId> inside = {out};
  ValueId result = out;
  const auto& users = users_of();
  for (double room = kMostCost / 2;;) {
    NodeId next = next_pointwise(inside, chain, users);
    if (!next.valid() || (room -= cost(node(next))) < 0) break;
    chain.push_back(next);
    inside.insert(node(next).outputs[0]);
    if (auto escaped = escaping(inside, users); escaped.size() == 1) {
      best = chain;
      result = escaped[0];
    }
  }
  FusionGroup group;
  group.kind = kind_of(node(anchor));
  group.anchor = anchor;
  std::copy_if(order_.begin(), order_.end(), std::back_inserter(group.epilogue),
               [&](NodeId n) { return std::find(best.begin(), best.end(), n) != best.end(); });
  if (NodeId t = row_keeping_transpose(result, users); t.valid()) {
    group.transpose = t;
    best.push_back(t);
    result = node(t).outputs[0];
  }
  group.result = group.storage = result;
  const int id = new_group(group);
  node_group_[static_cast<size_t>(anchor.index)] = id;
  for (NodeId n : best) node_group_[static_cast<size_t>(n.index)] = id;
  out_.materialized[static_cast<size_t>(result.index)] = true;
}

NodeId Fuser::row_keeping_transpose(ValueId v, const std::vector<std::vector<NodeId>>& users) const {
  const auto& us = users[static_cast<size_t>(v.index)];
  if (us.size() != 1 || g_.is_output(v) || !is_transpose(node(us[0]))) return NodeId();
  const auto perm = node(us[0]).ints_attribute("perm");
  return !perm.empty() && perm.back() == static_cast<int64_t>(perm.size()) - 1 ? us[0] : NodeId();
}

const std::vector<std::vector<NodeId>>& Fuser::users_of() {
  if (users_.empty() && g_.value_count() > 0) {
    users_.resize(static_cast<size_t>(g_.value_count()));
    for (NodeId id : order_)
      if (live(id))
        for (ValueId in : node(id).inputs)
          if (in.valid()) users_[static_cast<size_t>(in.index)].push_back(id);
  }
  return users_;
}

bool Fuser::in_epilogues(DType dtype) const {
  const bool quantized = dtype == DType::i32 || dtype == DType::u8 || dtype == DType::i8;
  return dtype == DType::f32 || (quantized && traits_.multiplies_integers);
}

NodeId Fuser::next_pointwise(const std::set<ValueId>& inside, const std::vector<NodeId>& chain,
                             const std::vector<std::vector<NodeId>>& users) {
  for (ValueId v : inside)
    for (NodeId u : users[static_cast<size_t>(v.index)]) {
      const Node& n = node(u);
      if (std::find(chain.begin(), chain.end(), u) != chain.end()) continue;
      if (n.op->kind != OpKind::pointwise || n.outputs.size() != 1 || node_group_[static_cast<size_t>(u.index)] >= 0)
        continue;
      if (!same_extents(n.outputs[0], v) || !in_epilogues(value(n.outputs[0]).dtype)) continue;
      const bool fits = std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId in) {
        return !in.valid() || in_epilogues(value(in).dtype) || value(in).dtype == DType::boolean;
      });
      // Every input is the set's own or ready before it: an input that depends on the set would leave it and come back,
      // which escaping() finds out.
      if (fits) return u;
    }
  return NodeId();
}

std::vector<ValueId> Fuser::escaping(const std::set<ValueId>& inside,
                                     const std::vector<std::vector<NodeId>>& users) const {
  std::vector<ValueId> out;
  for (ValueId v : inside) {
    const auto& us = users[static_cast<size_t>(v.index)];
    const bool leaves = g_.is_output(v) || std::any_of(us.begin(), us.end(), [&](NodeId u) {
                          return node(u).outputs.empty() || !inside.count(node(u).outputs[0]);
                        });
    if (leaves) out.push_back(v);
  }
  return out;
}

void Fuser::decide_contraction(NodeId id, const FusionGroup& group) {
  const Node& n = node(id);
  const int number = node_group_[static_cast<size_t>(id.index)];
  if (id == group.transpose) return;
  const bool is_attention = group.kind == FusionGroup::Kind::attention;
  const size_t operands = id != group.anchor ? 0 : is_attention ? kFusedAttentionKept : n.inputs.size();
  // What moves elements elsewhere is not seen through, nor a Transpose that another product applies by storing.
  const auto is_seen_through = [&](NodeId m) { return node_group_[static_cast<size_t>(m.index)] < 0; };
  for (size_t i = 0; i < operands; ++i) {
    const ValueId in = n.inputs[i];
    if (!in.valid() || value(in).is_constant()) continue;
    const bool whole_rows = value(in).dtype != DType::f32;  // bytes are read four at a time
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
  return p.valid() ? node_group_[static_cast<size_t>(p.index)] : -1;
}

}  // namespace gcg
