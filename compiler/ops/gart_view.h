// gart.View: canonicalize rewrites Reshape, Flatten, Squeeze and Unsqueeze as this operator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Attribute of a gart.View that keeps its input's rank: for each dimension, why its extent must be that of `shape`.
constexpr const char* kViewReasons = "reasons";

/// The attribute `shape` of a gart.View: one expression per output dimension over the extents of its inputs. x0_1 is
/// dimension 1 of input 0. Only input 0 gives elements; other inputs only lend extents.
///   View(x[b*12, s, 64], ids[b, s]) {shape = ["x1_0", "12", "x0_1", "x0_2"]}  :  [b, 12, s, 64]
struct ViewParams {
  std::vector<std::string> shape;
  std::vector<ValueId> inputs;
};

/// Expresses the view of `x` under `shape`; `lenders` may become further inputs. nullopt if the extents of x and the
/// lenders do not determine the shape, or if the shape needs a division by a number that may be zero.
std::optional<ViewParams> express_view(const Graph& graph, ValueId x, const Shape& shape,
                                       const std::vector<ValueId>& lenders);

}  // namespace gcg
