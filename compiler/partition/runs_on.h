// Which devices say that they run a node.
#pragma once

#include <string>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/ir/graph.h"

namespace gcg {

/// Is `text` of the pattern? * and ? stand for any characters and one.
bool fits_pattern(const std::string& pattern, const std::string& text);

/// Does the device say that it runs the node, and all nodes in its bodies? Patterns of operators are compared with
/// "Conv", "com.x.Op"; those of element types with every type that the node reads or makes. A device that supports no
/// operators by name supports all, and so for types. What its target can do is not asked.
bool runs_on(const FleetDevice& device, const Graph& graph, const Node& node);

/// The devices of the fleet that run the node, ascending. Throws CompileError with what each device says if none does.
std::vector<int> support_of(const Fleet& fleet, const Graph& graph, const Node& node);

}  // namespace gcg
