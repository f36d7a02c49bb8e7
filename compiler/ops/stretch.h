// gart.Stretch: broadcasting between extents that only a run knows.
#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// The attribute that lists the extents of the result of a gart.Stretch or gart.WithExtents, as texts of Dims.
constexpr const char* kDimsAttribute = "gart.dims";

/// The extents that the attribute lists.
Shape written_dims(const Node& node);

/// Makes a node of this operator, without outputs yet, that reads `x` and lists `extents` in kDimsAttribute.
Node node_with_dims(const OpDef& op, const std::string& name, ValueId x, const Shape& extents);

/// Makes a gart.Stretch, without outputs yet: `x` broadcast to `extents`, of the same or a higher rank. At run time
/// each extent of x is 1 or the extent that it is aligned with.
Node stretch_node(const std::string& name, ValueId x, const Shape& extents);

/// Makes a gart.Stretch, without outputs yet, that broadcasts nothing. The graph only runs if x has these extents.
Node agree_node(const std::string& name, ValueId x, const Shape& extents);

}  // namespace gcg
