#include "tools/gcc-graph/fleet/replace_on_fleet.h"

#include <chrono>
#include <vector>

#include "compiler/place/assembly_problem.h"
#include "compiler/place/refine.h"
#include "compiler/support/error.h"
#include "tools/gcc-graph/io/artifact_identity.h"
#include "tools/gcc-graph/io/assembly_section.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::vector<gart::fleet::GroupPlace> places_of(const gart::fb::AssemblyT& assembly, const place::Placement& placement) {
  std::vector<gart::fleet::GroupPlace> places;
  for (size_t g = 0; g < assembly.groups.size(); ++g)
    places.push_back({assembly.groups[g]->name, assembly.devices[static_cast<size_t>(placement.device[g])]->name});
  return places;
}

/// What a run with the groups there takes.
gart::fleet::Times measure(const std::string& artifact, const RunOnFleet& fleet, const InputOptions& options,
                           const std::vector<gart::fleet::GroupPlace>& places, double seconds) {
  constexpr int kLeastRuns = 10;
  const gart::fleet::Program program = fleet.load(artifact, options, places);
  const NamedTensors inputs = collect_inputs(program.inputs(), options);
  gart::fleet::Request request = fleet.request(program, inputs);
  const auto start = Clock::now();
  for (int runs = 0; runs < kLeastRuns || std::chrono::duration<double>(Clock::now() - start).count() < seconds; ++runs)
    value_or_throw(request.run());
  return program.times();
}

Json round_json(const gart::fb::AssemblyT& assembly, const place::Round& round) {
  Json groups = Json::object();
  for (const gart::fleet::GroupPlace& p : places_of(assembly, round.placement)) groups[p.group] = p.device;
  return {{"predicted_us", round.predicted_us},
          {"measured_us", round.measured_us},
          {"noise_us", round.noise_us},
          {"groups", groups}};
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
    const gart::fleet::Times times = measure(path, fleet, inputs, places_of(assembly, next.placement), seconds);
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
  Json groups = Json::object();
  for (const gart::fleet::GroupPlace& p : places_of(assembly, next.placement)) groups[p.group] = p.device;
  out["least"] = {{"measured_us", next.predicted_us}, {"groups", groups}, {"why", next.why}};
  return out;
}

}  // namespace gcg::tools
