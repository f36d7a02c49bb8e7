// Concat: its parts are written into its storage, or read by one kernel.
#include <algorithm>

#include "compiler/schedule/fuser.h"
#include "compiler/schedule/fusion_costs.h"

namespace gcg {

bool Fuser::gathers_parts(const Node& n) {
  constexpr size_t kMostParts = 32;  // as many branches per element
  if (device_ != DeviceClass::cuda || n.on_host || n.inputs.size() > kMostParts) return false;
  return std::count_if(n.inputs.begin(), n.inputs.end(), [&](ValueId in) { return !is_direct(in, n); }) >= 2;
}

void Fuser::materialize_concat(const Node& n, ValueId v) {
  out_.materialized[static_cast<size_t>(v.index)] = true;
  const int64_t rank = static_cast<int64_t>(value(v).shape->size());
  int64_t axis = n.int_attribute("axis", 0);
  if (axis < 0) axis += rank;
  Dim offset(0);
  for (ValueId in : n.inputs) {
    Group part;
    part.result = in;
    part.storage = v;
    part.concat_axis = static_cast<int>(axis);
    part.concat_offset = offset;
    part.on_host = n.on_host;
    offset = offset + (*value(in).shape)[static_cast<size_t>(axis)];
    if (value(in).is_constant() || is_symbolic_content(value(in)) || !direct_part(in, n, part)) {
      const int group = new_group(part);
      if (!reads(in)) continue;
      Use& u = use(in);
      u.groups.insert(group);
      u.contexts.insert(0);
    }
  }
}

bool Fuser::is_direct(ValueId in, const Node& concat) {
  const int g = node_group_of(in);
  if (g < 0 || out_.groups[static_cast<size_t>(g)].on_host != concat.on_host) return false;
  if (out_.groups[static_cast<size_t>(g)].result != in || g_.is_output(in)) return false;
  return users_of()[static_cast<size_t>(in.index)].size() == 1;
}

bool Fuser::direct_part(ValueId in, const Node& concat, const Group& part) {
  if (!is_direct(in, concat)) return false;
  Group& group = out_.groups[static_cast<size_t>(node_group_of(in))];
  group.storage = part.storage;
  group.concat_axis = part.concat_axis;
  group.concat_offset = part.concat_offset;
  out_.materialized[static_cast<size_t>(in.index)] = false;
  return true;
}

}  // namespace gcg
