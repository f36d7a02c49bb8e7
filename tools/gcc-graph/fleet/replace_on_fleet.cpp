#include "tools/gcc-graph/fleet/replace_on_fleet.h"

#include <vector>

#include "gcc_graph/place.h"
#include "tools/gcc-graph/fleet/measure_placement.h"
#include "tools/gcc-graph/io/artifact_identity.h"
#include "tools/gcc-graph/io/assembly_section.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;

Json round_json(const gcc_graph::Placing& placing, const gcc_graph::PlacingRound& round) {
  return {{"predicted_us", round.predicted_us},
          {"measured_us", round.measured_us},
          {"noise_us", round.noise_us},
          {"groups", places_json(placing, round.placement)}};
}

}  // namespace

Json replace_on_fleet(const std::string& path, const RunOnFleet& fleet, const InputOptions& inputs, double seconds,
                      const std::string& output) {
  const MappedArtifact artifact(path);
  if (artifact.view().assembly().empty()) fail(path, ": it has no fleet plan; compile it with --fleet");
  const std::string identity = artifact_identity(artifact.view());
  const gcc_graph::Placing placing = placing_of(artifact.view());
  gcc_graph::NextRound next{false, placing.placement(), placing.predicted_us(), ""};
  gcc_graph::FleetProfile profile;
  std::vector<gcc_graph::PlacingRound> rounds;
  Json out = {{"artifact", path}, {"rounds", Json::array()}};
  while (!next.stop) {
    const gart::fleet::Times times =
        PlacedRuns(path, fleet, inputs, places_of(placing, next.placement)).measure(seconds);
    rounds.push_back({next.placement, next.predicted_us, times.run_us, times.run_noise_us});
    out["rounds"].push_back(round_json(placing, rounds.back()));
    const gcc_graph::FleetProfile now = profile_of(identity, times);
    profile = rounds.size() == 1 ? now : gcc_graph::merged(profile, now);
    gcc_graph::Placing measured = placing_of(artifact.view());
    gcc_graph::RefineOptions options;
    options.noise_us = measured.correct(profile);
    next = measured.next_round(rounds, options);
  }
  fleet.write_profile(profile);
  if (!output.empty()) {
    gcc_graph::Placing least = placing_of(artifact.view());
    least.correct(profile);
    least.put(next.placement);
    write_assembly(path, output, least.section());
    out["written"] = output;
  }
  out["least"] = {
      {"measured_us", next.predicted_us}, {"groups", places_json(placing, next.placement)}, {"why", next.why}};
  return out;
}

}  // namespace gcg::tools
