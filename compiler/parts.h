// The model taken apart: entry points of the file that a fleet of devices runs one by one.
#pragma once

#include <string>
#include <vector>

#include "compiler/artifact/emit_assembly.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/assembly.h"
#include "compiler/partition/cut.h"
#include "compiler/plan/plan.h"

namespace gcg {

struct PartedModel {
  Assembly assembly;
  size_t model_outputs = 0;  // the first outputs of its graph; the others are values to be kept
};

/// The values that these lists name (compiler/support/name_list.h) become outputs after the graph's own, but for those
/// that are outputs already. Throws CompileError for names that the graph does not have, listing the nearest ones.
void keep_values(Graph& graph, const std::vector<std::string>& lists);

/// `model`: as model passes leave it, its outputs beyond `model_outputs` to be kept. `wishes`: of the model as
/// imported.
PartedModel take_apart(const Graph& model, size_t model_outputs, const Fleet& fleet, const CutOptions& cut,
                       const NodeWishes& wishes);

/// The extents that calls of a part run with when the model's are these.
std::vector<SymbolValues> shape_sets_of_part(const PartedModel& model, int part,
                                             const std::vector<SymbolValues>& model_sets);

/// Throws CompileError naming a device of the fleet that none of the targets has code for.
void check_targets(const Fleet& fleet, const std::vector<Target>& targets);

/// Can a device that some call of the part is for run code for the target?
bool is_for(const PartedModel& model, int part, const Fleet& fleet, const Target& target);

/// Microseconds of a run of the entry point (0: the whole model, then its parts) on the device, by the first plan that
/// is for it: the one of most fixed extents. 0: there is none.
double estimate_of_entry(int entry_point, const FleetDevice& device, const std::vector<Plan>& plans,
                         const std::vector<Target>& targets);

/// How long groups are thought to take on each of their devices and what memory they need; all of them on the first
/// one. `sets`: the extents that the model is compiled for; the first of them count. `plans`: of the parts, with memory
/// planned; `targets`: what Plan::target counts.
AssemblyPlacement describe_groups(const PartedModel& model, const Fleet& fleet, const std::vector<Plan>& plans,
                                  const std::vector<Target>& targets, const std::vector<SymbolValues>& sets);

/// The assembly's section with its groups where they run soonest. Throws CompileError saying why none is possible.
std::vector<uint8_t> place_groups(const PartedModel& model, const std::vector<Plan>& plans,
                                  const std::vector<uint8_t>& assembly);

}  // namespace gcg
