// Placing the assembly of a file: what it says as a problem, and a placement as what it says.
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

/// Of a group: which weights, by any number that equal ones share, and their bytes.
struct GroupWeight {
  uint64_t identity = 0;
  int64_t bytes = 0;
};
using GroupWeights = std::vector<std::vector<GroupWeight>>;  // by group

/// Groups, devices and links by their numbers in the assembly. Open extents count as kTypicalExtent; what the caller
/// gives and wants lies with the first CPU of this host. Links that the assembly does not have are as devices of the
/// two kinds commonly have. `weights` empty: each group has its own, of Group.weight_bytes. Throws CompileError for an
/// assembly whose numbers do not fit each other.
place::Problem problem_of(const gart::fb::AssemblyT& assembly, const GroupWeights& weights);

/// The devices of groups and the order of calls, as they stand there.
place::Placement placement_of(const gart::fb::AssemblyT& assembly, const place::Problem& problem);

/// Puts groups on their devices and calls in their order, and predicts when they run.
void apply(const place::Problem& problem, const place::Placement& placement, gart::fb::AssemblyT& assembly);

/// Operation times by what was measured. Where a group has not run yet it takes what was predicted, times what groups
/// took longer than predicted on that device, times what this one took longer than the others where it did run.
/// Likewise what groups take longer whose inputs come from another device, where some ran both ways.
/// Returns the noise of a run as placed. Throws CompileError for a row whose group or device the assembly does not
/// have.
double correct_times(gart::fb::AssemblyT& assembly, const FleetProfile& profile);

/// Devices and links of `fleet` take the place of the assembly's. A device runs what the one of its name ran, or the
/// first one of its kind, target and patterns, in a time by their rates. Throws CompileError for a group that nothing
/// runs any more.
void move_to_fleet(gart::fb::AssemblyT& assembly, const Fleet& fleet);

/// A section with the best placement that is found. Throws CompileError saying why there is none.
std::vector<uint8_t> place_assembly(std::span<const uint8_t> section, const GroupWeights& weights);

/// Sections and what they hold. Throws CompileError if the section is no assembly.
gart::fb::AssemblyT unpack_assembly(std::span<const uint8_t> section);
std::vector<uint8_t> pack_assembly(const gart::fb::AssemblyT& assembly);

}  // namespace gcg
