// Which devices say that they run a node.
#pragma once

#include <string>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/ir/graph.h"

namespace gcg {

/// Is `text` of the pattern, or the same as it? As a shell's: *, ? and [a-c] (fnmatch).
/// Patterns of devices that fit no operator and no element type: "device 'p': denies 'Sofplus'", and the nearest.
struct IdlePattern {
  std::string pattern, nearest;
};
std::vector<IdlePattern> idle_patterns(const Fleet& fleet);

bool fits_pattern(const std::string& pattern, const std::string& text);

/// "Conv", "com.x.Op".
std::string operator_name(const OpDef& op);

/// Is it, or holds a body of it, an operator that only CPUs run: one of the application's?
bool only_on_cpus(const Node& node);

/// Does the device say that it runs the node, and all nodes in its bodies? Patterns of operators are compared with
/// operator_name, those of element types with every type that the node reads or makes. A device that supports no
/// operators by name supports all, and so for types. `imported_as`: the operator that the node was made from, which
/// counts as well; null: it is its own. A GPU does not run what is only_on_cpus.
bool runs_on(const FleetDevice& device, const Graph& graph, const Node& node, const OpDef* imported_as = nullptr);

/// The devices of the fleet that run the node, ascending. Throws CompileError with what each device says if none does.
std::vector<int> support_of(const Fleet& fleet, const Graph& graph, const Node& node,
                            const OpDef* imported_as = nullptr);

}  // namespace gcg
