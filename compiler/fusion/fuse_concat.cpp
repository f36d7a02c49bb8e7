// Concat and gart.Interleave: parts are written into the result's storage, or one kernel reads all parts of a Concat.
#include <algorithm>

#include "compiler/fusion/fuser.h"
#include "compiler/fusion/fusion_costs.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/ops/interleave.h"
#include "compiler/ops/op_support.h"

namespace gcg {

bool Fuser::interleaves_parts(const Node& n) {
  constexpr int64_t kMostInterleaved = 4;
  constexpr double kFewestRows = 32;
  if (traits_.copies_parts_together || !is_concat(n)) return false;
  const Shape& shape = *value(n.outputs[0]).shape;
  const auto axis = wrap_axis(n.int_attribute("axis", 0), static_cast<int64_t>(shape.size()));
  const Dim apart = product({shape.begin() + axis, shape.end()});
  const bool fits = apart.is_constant() && apart.constant() > 1 && apart.constant() <= kMostInterleaved;
  if (!fits || typical(product({shape.begin(), shape.begin() + axis})) < kFewestRows) return false;
  return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId in) {
    const NodeId p = value(out_.view_of[in]).producer;
    if (!p.valid()) return true;
    const OpKind kind = node(p).op->kind;
    const bool joins = is_concat(node(p)) || is_interleave(node(p));
    return node_group_[p] < 0 && (kind == OpKind::pointwise || (kind == OpKind::movement && !joins));
  });
}

bool Fuser::gathers_parts(const Node& n) {
  constexpr size_t kMostParts = 32;  // a kernel that reads all parts has a branch per part for each element
  if (interleaves_parts(n)) return true;
  if (!traits_.copies_parts_together || n.inputs.size() > kMostParts) return false;
  return std::count_if(n.inputs.begin(), n.inputs.end(), [&](ValueId in) { return !is_direct(in); }) >= 2;
}

std::vector<std::vector<FusionGroup::StridedSlice>> Fuser::strided_slices(const Node& n) const {
  std::vector<std::vector<FusionGroup::StridedSlice>> all;
  if (is_interleave(n)) {
    const Interleaving weave = interleaving_of(n);
    for (int64_t p = 0; p < weave.phases(); ++p) {
      const std::vector<int64_t> offsets = weave.offsets(p);
      all.emplace_back();
      for (size_t k = 0; k < offsets.size(); ++k) all.back().push_back({weave.axes[k], weave.steps[k], offsets[k]});
    }
    return all;
  }
  const auto rank = static_cast<int64_t>(value(n.outputs[0]).shape->size());
  int64_t axis = n.int_attribute("axis", 0);
  if (axis < 0) axis += rank;
  Dim offset(0);
  for (ValueId in : n.inputs) {
    all.push_back({{static_cast<size_t>(axis), 1, offset}});
    offset = offset + (*value(in).shape)[static_cast<size_t>(axis)];
  }
  return all;
}

void Fuser::materialize_parts(const Node& n, ValueId v) {
  out_.materialized[v] = true;
  const std::vector<std::vector<FusionGroup::StridedSlice>> slices = strided_slices(n);
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const ValueId in = n.inputs[i];
    FusionGroup part;
    part.result = in;
    part.storage = v;
    part.slices = slices[i];
    if (value(in).is_constant() || is_symbolic_content(value(in)) || !direct_part(in, part)) {
      const int group = new_group(part);
      if (!reads(in)) continue;
      Use& u = use(in);
      u.groups.insert(group);
      u.contexts.insert(0);
    }
  }
}

bool Fuser::is_direct(ValueId in) {
  const int g = node_group_of(in);
  if (g < 0 || group_at(g).result != in || g_.is_output(in)) return false;
  return users_of()[in].size() == 1;
}

bool Fuser::direct_part(ValueId in, const FusionGroup& part) {
  if (!is_direct(in)) return false;
  FusionGroup& group = group_at(node_group_of(in));
  group.storage = part.storage;
  group.slices = part.slices;
  out_.materialized[in] = false;
  return true;
}

}  // namespace gcg
