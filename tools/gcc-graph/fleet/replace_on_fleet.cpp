#include "tools/gcc-graph/fleet/replace_on_fleet.h"

#include <vector>

#include "compiler/place/assembly_problem.h"
#include "compiler/place/refine.h"
#include "tools/gcc-graph/fleet/measure_placement.h"
#include "tools/gcc-graph/io/artifact_identity.h"
#include "tools/gcc-graph/io/assembly_section.h"
#include "tools/gcc-graph/io/fail.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;

Json round_json(const gart::fb::AssemblyT& assembly, const place::Round& round) {
  return {{"predicted_us", round.predicted_us},
          {"measured_us", round.measured_us},
          {"noise_us", round.noise_us},
          {"groups", places_json(assembly, round.placement)}};
}

}  // namespace

Json replace_on_fleet(const std::string& path, const RunOnFleet& fleet, const InputOptions& inputs, double seconds) {
  const MappedArtifact artifact(path);
  if (artifact.view().assembly().empty()) fail(path, ": there is no assembly in it; compile with --fleet makes one");
  const std::string identity = artifact_identity(artifact.view());
  const gart::fb::AssemblyT assembly = unpack_assembly(artifact.view().assembly());
  const GroupWeights weights = group_weights(artifact.view(), assembly);
  place::NextRound next{false, placement_of(assembly, problem_of(assembly, weights)), assembly.predicted, ""};
  FleetProfile profile;
  std::vector<place::Round> rounds;
  Json out = {{"artifact", path}, {"rounds", Json::array()}};
  while (!next.stop) {
    const gart::fleet::Times times =
        PlacedRuns(path, fleet, inputs, places_of(assembly, next.placement)).measure(seconds);
    rounds.push_back({next.placement, next.predicted_us, times.run_us, times.run_noise_us});
    out["rounds"].push_back(round_json(assembly, rounds.back()));
    if (rounds.size() == 1) profile = profile_of(identity, times);
    profile.merge(profile_of(identity, times));
    gart::fb::AssemblyT measured = unpack_assembly(artifact.view().assembly());
    place::RefineOptions options;
    options.noise_us = correct_times(measured, profile);
    next = place::next_round(problem_of(measured, weights), rounds, options);
  }
  fleet.write_profile(profile);
  out["least"] = {
      {"measured_us", next.predicted_us}, {"groups", places_json(assembly, next.placement)}, {"why", next.why}};
  return out;
}

}  // namespace gcg::tools
