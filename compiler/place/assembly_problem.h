// Places a file's fleet plan: converts the plan to a problem, and a placement back to the plan.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assembly_generated.h"
#include "compiler/fleet/fleet.h"
#include "compiler/place/fleet_profile.h"
#include "compiler/place/problem.h"

namespace gcg {

/// A weight of a group. Equal weights have the same `identity`, and different weights have different ones.
struct GroupWeight {
  uint64_t identity = 0;
  int64_t bytes = 0;
};
using GroupWeights = std::vector<std::vector<GroupWeight>>;  // by group

/// Groups, devices and links have their numbers in the fleet plan. Symbolic extents count as kTypicalExtent. Inputs and
/// outputs of the model are in the memory of the first CPU of this host. Missing links get defaults for the two kinds
/// of devices. If `weights` is empty, each group has weights of its own, of Group.weight_bytes bytes. Throws
/// CompileError for a plan whose numbers are inconsistent.
place::Problem problem_of(const gart::fb::AssemblyT& assembly, const GroupWeights& weights);

/// The devices of groups and the order of calls in the plan.
place::Placement placement_of(const gart::fb::AssemblyT& assembly, const place::Problem& problem);

/// Writes the devices of groups, the order of calls and their predicted times.
void apply(const place::Problem& problem, const place::Placement& placement, gart::fb::AssemblyT& assembly);

/// Replaces operation times by measured ones. If a group has not run on a device, its predicted time is multiplied by
/// two factors. One says how much longer than predicted groups took on that device. The other says how much longer than
/// other groups this group took on the devices where it ran. Extra times for inputs from another device are estimated
/// likewise, if some groups ran with and without them. Returns the noise of a run with this placement. Throws
/// CompileError for a row whose group or device is not in the plan.
double correct_times(gart::fb::AssemblyT& assembly, const FleetProfile& profile);

/// Replaces the plan's devices and links by those of `fleet`. A device takes over the groups of the old device of the
/// same name, or else of the first old device of the same kind, target and patterns. Times are scaled by the ratio of
/// their rates. Throws CompileError for a group that no device runs any more.
void move_to_fleet(gart::fb::AssemblyT& assembly, const Fleet& fleet);

/// The section with the best placement found. If there is none, throws CompileError with the reason.
std::vector<uint8_t> place_assembly(std::span<const uint8_t> section, const GroupWeights& weights);

/// Unpacks and packs sections. Throws CompileError if the section is not a fleet plan.
gart::fb::AssemblyT unpack_assembly(std::span<const uint8_t> section);
std::vector<uint8_t> pack_assembly(const gart::fb::AssemblyT& assembly);

}  // namespace gcg
