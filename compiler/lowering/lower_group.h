// Lowers a fused group to a kernel.
#pragma once

#include <vector>

#include "compiler/kernel/kernel.h"
#include "compiler/lowering/fusion.h"
#include "compiler/lowering/value_lowering.h"

namespace gcg {

struct LoweredGroup {
  Kernel kernel;
  std::vector<ValueId> storages;  // per operand: the value whose storage it is; the last one is the result's
  std::vector<int> in_place;      // operands whose storage the result may reuse (same elements, read before written)
};

/// Requires: the group is not control flow.
LoweredGroup lower_group(const Graph& graph, const Fusion& fusion, const FusionGroup& group);

/// out[rows of the state + i, ...] = rows[i, ...] for a gart.Append. Operands: rows, out.
LoweredGroup lower_append(const Graph& graph, const Node& append);

/// out[..., first[b] + i, ...] = rows[..., i, ...] for a gart.Append that replaces rows. Operands: first (if the node
/// has it), rows, out.
LoweredGroup lower_update(const Graph& graph, const Node& update);

/// out[iteration, ...] = value[...]: one row of a Loop's scan output. Operands: iteration number, value, out.
LoweredGroup lower_row_store(const Graph& body, ValueId value, ValueId iteration, const Shape& out_shape);

}  // namespace gcg
