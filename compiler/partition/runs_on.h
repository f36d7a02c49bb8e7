// Finds the devices that declare support for a node.
#pragma once

#include <string>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/ir/graph.h"

namespace gcg {

/// A device's pattern that matches no operator and no element type ("device 'p': denies 'Sofplus'"), with the nearest
/// existing name.
struct IdlePattern {
  std::string pattern, nearest;
};
std::vector<IdlePattern> idle_patterns(const Fleet& fleet);

/// True if `text` matches the shell pattern (*, ? and [a-c], as in fnmatch), or equals the pattern.
bool fits_pattern(const std::string& pattern, const std::string& text);

/// "Conv", "com.x.Op".
std::string operator_name(const OpDef& op);

/// True if only CPUs run the node or a node in its subgraphs (an operator of the application).
bool only_on_cpus(const Node& node);

/// True if the device supports the node and all nodes in its subgraphs. Patterns of operators are compared with
/// operator_name, and patterns of element types with every type that the node reads or makes. A device that lists no
/// supported operators supports all; the same holds for types. `imported_as`: the operator from which the node was
/// made; patterns are also compared with it. Null: only the node's own operator is compared. A GPU does not run nodes
/// that are only_on_cpus.
bool runs_on(const FleetDevice& device, const Graph& graph, const Node& node, const OpDef* imported_as = nullptr);

/// The devices of the fleet that run the node, ascending. If there is none, throws CompileError with each device's
/// reason.
std::vector<int> support_of(const Fleet& fleet, const Graph& graph, const Node& node,
                            const OpDef* imported_as = nullptr);

}  // namespace gcg
