// gart.Stretch: broadcasting whose kind is known only when shapes are bound.
#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// The attribute with the extents of a gart.Stretch's or gart.WithExtents' result, as texts of Dims.
constexpr const char* kDimsAttribute = "gart.dims";

/// The extents that the attribute lists.
Shape written_dims(const Node& node);

/// Makes a node of this operator, without outputs yet, that reads `x` and has `extents` in that attribute.
Node node_with_dims(const OpDef& op, const std::string& name, ValueId x, const Shape& extents);

/// Makes a gart.Stretch, without outputs yet: `x` broadcast to `extents`, of the same or a higher rank. At run time
/// each extent of x is 1 or the extent that it is aligned with.
Node stretch_node(const std::string& name, ValueId x, const Shape& extents);

/// Makes a gart.Stretch, without outputs yet, that broadcasts nothing: the graph is run only if x has these extents.
Node agree_node(const std::string& name, ValueId x, const Shape& extents);

}  // namespace gcg
