#include "compiler/fusion/fuser.h"

#include <algorithm>

#include "compiler/fusion/fuse.h"
#include "compiler/fusion/fusion_costs.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/ops/launches.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"

namespace gcg {

Fusion Fuser::run() {
  out_.computes_masks = traits_.computes_masks;
  out_.joins_dimensions = traits_.joins_dimensions;
  resolve_views();
  probe_.view_of = out_.view_of;
  probe_.materialized = IndexedVector<ValueId, bool>(out_.view_of.size(), true);
  find_live();
  for (NodeId id : order_)
    if (live(id) && (anchors_matmul(g_, node(id), traits_) || anchors_conv(node(id)) || anchors_attention(node(id))))
      absorb_epilogue(id);
  for (ValueId v : g_.outputs) use(v).must = true;
  for (NodeId id : order_)
    if (live(id) && node(id).op == &op("BitCast")) use(node(id).inputs[0]).must = true;
  for (auto it = order_.rbegin(); it != order_.rend(); ++it)
    if (live(*it)) decide(*it);
  own_outputs();
  return std::move(out_);
}

void Fuser::resolve_views() {
  for (NodeId id : order_) {
    const Node& n = node(id);
    if (n.op->kind != OpKind::view) continue;
    const ValueId in = n.inputs[0], v = n.outputs[0];
    if (!is_symbolic_content(value(v))) out_.view_of[v] = out_.view_of[in];
  }
}

void Fuser::find_live() {
  std::vector<ValueId> stack(g_.outputs);
  for (NodeId id : order_) {
    // The branches of an If also bind extents, which others may need even if nobody reads the If's results.
    const bool binds =
        node(id).op == &op("Bind", "gart") || (node(id).op == &op("If") && node(id).has_attribute(kSymbolsAttribute));
    if (!binds) continue;
    live_.insert(id);
    stack.insert(stack.end(), node(id).inputs.begin(), node(id).inputs.end());
  }
  while (!stack.empty()) {
    const ValueId v = stack.back();
    stack.pop_back();
    const NodeId p = value(v).producer;
    // A graph output that is a shape computation is computed from the symbols, not from its producer's inputs.
    if (!p.valid() || live(p)) continue;
    live_.insert(p);
    if (is_symbolic_content(value(v)) && node(p).outputs.size() == 1 && !is_control(node(p))) continue;
    for (ValueId in : node(p).inputs)
      if (in.valid() && (reads(in) || is_control(node(p)))) stack.push_back(in);
  }
}

/// True if the value is a view whose extents may depend on the viewed value. Such a view cannot have memory of its own
/// size, because this memory is written before the size is known.
bool Fuser::is_run_bound_view(ValueId v) const {
  while (out_.view_of[v] != v) {
    const Node& n = node(value(v).producer);
    if (n.has_attribute(kSymbolsAttribute)) return true;
    v = n.inputs[0];
  }
  return false;
}

void Fuser::own_outputs() {
  std::set<ValueId> taken;
  for (size_t i = 0; i < g_.outputs.size(); ++i) {
    const ValueId v = g_.outputs[i], base = out_.view_of[v];
    const bool computed = out_.materialized[base];
    if (computed && !is_run_bound_view(v) && taken.insert(base).second) continue;
    FusionGroup copy;
    copy.result = copy.storage = v;
    copy.output_copy = static_cast<int>(i);
    new_group(copy);
  }
}

int Fuser::new_group(FusionGroup group) {
  out_.groups.push_back(std::move(group));
  return static_cast<int>(out_.groups.size()) - 1;
}

void Fuser::decide(NodeId id) {
  const Node& n = node(id);
  if (const int group = node_group_[id]; group >= 0) return decide_contraction(id, group_at(group));
  if (is_control(n)) return decide_control(id);
  if (runs_program(n)) return decide_program(id);
  for (ValueId v : n.outputs) {
    if (!v.valid()) continue;
    // The uses of a view were recorded at the viewed value.
    if (out_.view_of[v] != v) continue;
    decide_value(n, v);
  }
}

void Fuser::decide_control(NodeId id) {
  const Node& n = node(id);
  FusionGroup group;
  group.kind = FusionGroup::Kind::control;
  group.anchor = id;
  new_group(group);
  for (ValueId v : n.outputs)
    if (v.valid()) out_.materialized[v] = true;
  for (ValueId in : n.inputs)
    if (in.valid() && !value(in).is_constant()) use(in).must = true;
}

bool Fuser::runs_program(const Node& n) const {
  return runs_launches(n) || (n.op->program != nullptr && (traits_.prefers_programs || n.op->lower == nullptr));
}

bool Fuser::runs_launches(const Node& n) const {
  const OpLaunches* launches = traits_.has_streams ? launches_of(*n.op) : nullptr;
  return launches != nullptr && (launches->is_worth == nullptr || launches->is_worth(g_, n));
}

void Fuser::decide_program(NodeId id) {
  const Node& n = node(id);
  FusionGroup group;
  group.kind = FusionGroup::Kind::program;
  group.anchor = id;
  group.by_launches = runs_launches(n);
  for (ValueId v : n.outputs) {
    if (!v.valid() || (!use(v).must && use(v).groups.empty())) continue;
    out_.materialized[v] = true;
    if (!group.result.valid()) group.result = group.storage = v;
  }
  if (!group.result.valid()) return;  // the group has no readers
  new_group(group);
  for (ValueId in : n.inputs)
    if (reads(in)) use(in).must = true;
}

void Fuser::decide_value(const Node& n, ValueId v) {
  Use& u = use(v);
  if (!u.must && u.groups.empty()) return;  // the value has no readers
  if ((is_concat(n) && !gathers_parts(n)) || is_interleave(n)) return materialize_parts(n, v);
  if (u.must || interleaves_parts(n) || !has_room(n, u) || !inlines(n, v, u)) {
    FusionGroup group;
    group.result = group.storage = v;
    u.groups = {new_group(group)};
    u.contexts = {0};
    u.broadcast = u.in_epilogue = false;
    out_.materialized[v] = true;
  } else {
    probe_.materialized[v] = false;
  }
  for (int group : u.groups) group_cost_[group] += cost(n);
  record_inputs(n, v, u);
}

void Fuser::record_inputs(const Node& n, ValueId v, const Use& u) {
  const bool reduction = n.op->kind == OpKind::reduction || n.op->kind == OpKind::contraction;
  std::set<int> contexts;
  if (reduction)
    for (int i = 0; i < passes(n); ++i) contexts.insert(fresh_context());
  if (!reduction || passes(n) == 3) contexts.insert(u.contexts.begin(), u.contexts.end());
  const std::set<int> groups = u.groups;
  for (ValueId in : n.inputs) {
    if (!reads(in)) continue;
    Use& i = use(in);
    i.groups.insert(groups.begin(), groups.end());
    i.contexts.insert(contexts.begin(), contexts.end());
    if (n.op->kind == OpKind::pointwise) i.broadcast |= !(product(*value(in).shape) == product(*value(v).shape));
    i.broadcast |= n.op->kind == OpKind::movement && !is_concat(n) && repeats_elements(in, v);
    i.in_epilogue |= u.in_epilogue && !out_.materialized[v];
    // Blocking writes whole tiles. A Pad that is fused into it would split them.
    i.must |= n.op == &op_Pad && value(in).producer.valid() && node(value(in).producer).op == &op_gart_BlockChannels;
  }
}

bool Fuser::repeats_elements(ValueId in, ValueId out) const {
  return typical(product(*value(out).shape)) > 2 * typical(product(*value(in).shape));
}

Fusion fuse(const Graph& graph, DeviceClass device) { return Fuser(graph, device).run(); }

}  // namespace gcg
