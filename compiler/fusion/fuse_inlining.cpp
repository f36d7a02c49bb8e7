// Decides which values are computed on the fly where they are used.
#include <algorithm>
#include <limits>

#include "compiler/fusion/fuser.h"
#include "compiler/fusion/fusion_costs.h"
#include "compiler/kernel/expr.h"
#include "compiler/kernel/loop_work.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/lowering/lower_group.h"
#include "compiler/ops/op_def.h"

namespace gcg {

bool Fuser::inlines(const Node& n, ValueId v, const Use& u) {
  if (n.op->kind == OpKind::contraction) return sum_fits(n, v, u);
  if (is_concat(n)) return u.groups.size() == 1 && u.contexts.size() == 1 && !u.broadcast && !u.in_epilogue;
  if (traits_.computes_masks && is_mask(v, u)) return true;
  const bool cheap = is_cheap(n);
  const bool scalar = product(*value(v).shape).is(1) && n.op->kind != OpKind::reduction;
  if (u.in_epilogue && !cheap && !(scalar && cost(n) <= 1) && !is_own_arithmetic(n, u)) return false;
  if (u.groups.size() > 1) return cheap;
  const FusionGroup& group = group_at(*u.groups.begin());
  if (n.op->kind == OpKind::reduction) return reduction_fits(v, group, *u.groups.begin());
  if (u.broadcast && !cheap && !scalar && !row_value_.count(v) && !depends_on_row(n, *u.groups.begin())) return false;
  return cost(n) * static_cast<double>(u.contexts.size()) <= cost(n) + 6;
}

bool Fuser::is_own_arithmetic(const Node& n, const Use& u) const {
  return fits_epilogues(n) && cost(n) <= 1 && u.groups.size() == 1 && !u.broadcast;
}

bool Fuser::is_mask(ValueId v, const Use& u) const {
  constexpr double kMost = 8;
  const Shape& shape = *value(v).shape;
  const bool is_matrix = shape.size() > 1 && !shape.back().is(1) && !shape[shape.size() - 2].is(1);
  // A stored row of floats is computed once for all queries.
  if (value(v).dtype == DType::f32 && !is_matrix) return false;
  if (node(value(v).producer).op->kind == OpKind::reduction) return false;
  return std::any_of(u.groups.begin(), u.groups.end(), [&](int g) {
    const FusionGroup& group = group_at(g);
    if (group.kind != FusionGroup::Kind::attention) return false;
    const Graph& body = *node(group.anchor).bodies[0];
    const Shape& scores = *body.value(body.inputs[0]).shape;
    return mask_cost(v, typical(scores[scores.size() - 2] * scores.back())) <= kMost;
  });
}

double Fuser::mask_cost(ValueId v, double scores) const {
  constexpr double kNever = std::numeric_limits<double>::infinity(), kFew = 1.0 / 8;
  v = out_.view_of[v];
  if (!reads(v)) return 0;
  const DType dtype = value(v).dtype;
  const bool is_index = dtype == DType::i64 || dtype == DType::i32 || dtype == DType::u8;
  if (dtype != DType::boolean && dtype != DType::f32 && !is_index) return kNever;
  const NodeId p = value(v).producer;
  const bool computed = p.valid() && node_group_[p] < 0 && node(p).op->lower != nullptr &&
                        node(p).outputs.size() == 1 && !is_concat(node(p)) && !is_interleave(node(p));
  const OpKind kind = computed ? node(p).op->kind : OpKind::opaque;
  if (kind == OpKind::pointwise || kind == OpKind::movement || kind == OpKind::generator) {
    double sum = cost(node(p));
    for (ValueId in : node(p).inputs)
      if (in.valid()) sum += mask_cost(in, scores);
    return sum;
  }
  return dtype == DType::boolean || typical(product(*value(v).shape)) <= kFew * scores ? 1 : kNever;
}

bool Fuser::has_room(const Node& n, const Use& u) const {
  return std::all_of(u.groups.begin(), u.groups.end(), [&](int g) {
    const auto known = group_cost_.find(g);
    return known == group_cost_.end() || known->second + cost(n) <= kMostCost;
  });
}

bool Fuser::depends_on_row(const Node& n, int group) {
  for (ValueId in : n.inputs) {
    if (!reads(in)) continue;
    const NodeId p = value(out_.view_of[in]).producer;
    if (!p.valid() || node_group_[p] >= 0) continue;
    const Node& producer = node(p);
    if (producer.op->kind == OpKind::reduction && row_shaped(producer.outputs[0], group_at(group).result)) return true;
    if (producer.op->kind == OpKind::pointwise && row_shaped(producer.outputs[0], group_at(group).result) &&
        depends_on_row(producer, group))
      return true;
  }
  return false;
}

bool Fuser::row_shaped(ValueId v, ValueId result) const {
  const Shape &o = *value(v).shape, &r = *value(result).shape;
  if (o.size() != r.size() || o.empty()) return false;
  size_t i = 0;
  while (i < o.size() && o[i] == r[i]) ++i;
  return i < o.size() &&
         std::all_of(o.begin() + static_cast<int64_t>(i), o.end(), [](const Dim& d) { return d.is(1); });
}

bool Fuser::reduction_fits(ValueId v, const FusionGroup& group, int id) {
  const ValueId result = group.result;
  if (group.kind != FusionGroup::Kind::loop || !saves_work(v, group)) return false;
  auto& rows = group_rows_[id];
  if (row_shaped(v, result) && (!rows || *rows == *value(v).shape) && !group_elementwise_reduction_.count(id)) {
    rows = *value(v).shape;
    row_value_.insert(v);
    return true;
  }
  if (product(*value(v).shape) == product(*value(result).shape) && !rows && !group_elementwise_reduction_.count(id) &&
      uses_[v].contexts.size() == 1 && !uses_[v].broadcast) {
    group_elementwise_reduction_.insert(id);
    return true;
  }
  return false;
}

bool Fuser::sum_fits(const Node& n, ValueId v, const Use& u) {
  if (!traits_.inlines_sums || n.op->lower == nullptr || u.in_epilogue || u.groups.size() != 1) return false;
  const int id = *u.groups.begin();
  const FusionGroup& group = group_at(id);
  const bool is_element = product(*value(v).shape) == product(*value(group.result).shape);
  return is_element && reduction_fits(v, group, id);
}

bool Fuser::is_read(ValueId v) const {
  const Use& u = uses_[v];
  return u.must || !u.groups.empty();
}

/// The inputs that only this node reads and that movement operators make: they will have no storage.
std::vector<ValueId> Fuser::moved_inputs(const Node& n) const {
  std::vector<ValueId> result;
  // Windows overlap, so an element would be computed once per window.
  if (n.op->reads() == Reads::window) return result;
  for (ValueId in : n.inputs) {
    if (!reads(in)) continue;
    const ValueId base = out_.view_of[in];
    const NodeId p = value(base).producer;
    if (!p.valid() || !probe_.materialized[base]) continue;
    const Node& producer = node(p);
    const bool moves = producer.op->kind == OpKind::movement && producer.op->lower != nullptr && !is_concat(producer);
    if (moves && !is_interleave(producer) && !runs_program(producer) && !is_read(base)) result.push_back(base);
  }
  return result;
}

bool Fuser::saves_work(ValueId v, const FusionGroup& group) {
  const std::vector<ValueId> moved = moved_inputs(node(value(v).producer));
  for (ValueId in : moved) probe_.materialized[in] = false;
  FusionGroup separate;
  separate.result = separate.storage = v;
  const double apart = probed_work(group) + probed_work(separate) + traits_.step_work;
  probe_.materialized[v] = false;
  const double together = probed_work(group);
  probe_.materialized[v] = true;
  for (ValueId in : moved) probe_.materialized[in] = true;
  return together <= apart;
}

double Fuser::probed_work(const FusionGroup& group) const {
  const Kernel kernel = lower_group(g_, probe_, group).kernel;
  return loop_work(kernel, std::get<LoopKernel>(kernel.body));
}

}  // namespace gcg
