// A partitioned model: entry points of the file that the devices of a fleet run one by one.
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
  size_t model_outputs = 0;  // the graph's first outputs; the others are kept values
};

/// Appends the values that the lists name (compiler/support/name_list.h) to the graph's outputs, except those that are
/// outputs already. For an unknown name, throws CompileError with the nearest names.
void keep_values(Graph& graph, const std::vector<std::string>& lists);

/// `model`: the graph after the model passes; its outputs beyond `model_outputs` are kept values. `requests`: the
/// requests for nodes of the imported model.
PartedModel take_apart(const Graph& model, size_t model_outputs, const Fleet& fleet, const CutOptions& cut,
                       const NodeRequests& requests);

/// The extents of a part's calls, for each given set of the model's extents.
std::vector<SymbolValues> shape_sets_of_part(const PartedModel& model, int part,
                                             const std::vector<SymbolValues>& model_sets);

/// Throws CompileError naming a device of the fleet that no target has code for.
void check_targets(const Fleet& fleet, const std::vector<Target>& targets);

/// True if some call of the part is for a device that can run the target's code.
bool is_for(const PartedModel& model, int part, const Fleet& fleet, const Target& target);

/// Estimated microseconds of one run of the entry point on the device. Entry point 0 is the whole model; its parts
/// follow. The estimate uses the device's first plan, which has the most fixed extents. Returns 0 if there is no such
/// plan.
double estimate_of_entry(int entry_point, const FleetDevice& device, const std::vector<Plan>& plans,
                         const std::vector<Target>& targets);

/// Estimated times of groups on each of their devices and the memory they need, with all groups placed on the first
/// device. `sets`: the extents that the model is compiled for; the first set is used. `plans`: the plans of the parts,
/// with memory planned. `targets`: the list that Plan::target indexes.
AssemblyPlacement describe_groups(const PartedModel& model, const Fleet& fleet, const std::vector<Plan>& plans,
                                  const std::vector<Target>& targets, const std::vector<SymbolValues>& sets);

/// The fleet plan's section, with each group placed where the model finishes soonest. Throws CompileError with the
/// reason if no placement is possible.
std::vector<uint8_t> place_groups(const PartedModel& model, const std::vector<Plan>& plans,
                                  const std::vector<uint8_t>& assembly);

}  // namespace gcg
