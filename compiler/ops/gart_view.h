// gart.View: the one form of Reshape, Flatten, Squeeze and Unsqueeze after canonicalize.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// The attribute `shape` of a gart.View: one expression per output dimension over the extents of its inputs, which are
/// called x0_1 (input 0, dimension 1). Only input 0 gives elements; the others only lend extents.
///   View(x[b*12, s, 64], ids[b, s]) {shape = ["x1_0", "12", "x0_1", "x0_2"]}  :  [b, 12, s, 64]
struct ViewForm {
  std::vector<std::string> shape;
  std::vector<ValueId> inputs;
};

/// How to write the view of `x` under `shape`; `lenders` may be used as further inputs. nullopt if the extents of x and
/// the lenders do not determine the shape, or need a division that could be by zero.
std::optional<ViewForm> express_view(const Graph& graph, ValueId x, const Shape& shape,
                                     const std::vector<ValueId>& lenders);

}  // namespace gcg
