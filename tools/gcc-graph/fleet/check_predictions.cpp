#include "tools/gcc-graph/fleet/check_predictions.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "compiler/place/assembly_problem.h"
#include "compiler/place/lanes.h"
#include "compiler/place/simulate.h"
#include "tools/gcc-graph/fleet/measure_placement.h"
#include "tools/gcc-graph/io/artifact_identity.h"
#include "tools/gcc-graph/io/assembly_section.h"
#include "tools/gcc-graph/io/fail.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kRounds = 5;

place::Placement all_on(const place::Problem& problem, place::Placement placement, int device) {
  for (int g = 0; g < problem.group_count(); ++g)
    if (problem.groups[static_cast<size_t>(g)].runs_on(device)) placement.device[static_cast<size_t>(g)] = device;
  return placement;
}

place::Placement anywhere(const place::Problem& problem, place::Placement placement, std::mt19937& random) {
  for (int g = 0; g < problem.group_count(); ++g) {
    std::vector<int> devices;
    for (int d = 0; d < problem.device_count(); ++d)
      if (problem.groups[static_cast<size_t>(g)].runs_on(d)) devices.push_back(d);
    placement.device[static_cast<size_t>(g)] = devices[random() % devices.size()];
  }
  return placement;
}

}  // namespace

Json check_predictions(const std::string& path, const RunOnFleet& fleet, const InputOptions& inputs, double seconds,
                       int count) {
  const MappedArtifact artifact(path);
  if (artifact.view().assembly().empty()) fail(path, ": there is no assembly in it; compile with --fleet makes one");
  gart::fb::AssemblyT assembly = unpack_assembly(artifact.view().assembly());
  const GroupWeights weights = group_weights(artifact.view(), assembly);
  const place::Problem before = problem_of(assembly, weights);
  const place::Placement placed = placement_of(assembly, before);
  std::mt19937 random(1);
  std::vector<place::Placement> placements;
  for (int d = 0; d < before.device_count(); ++d) placements.push_back(all_on(before, placed, d));
  for (int i = 0; i < count; ++i) placements.push_back(anywhere(before, placed, random));
  std::deque<PlacedRuns> runs;
  for (const place::Placement& p : placements) runs.emplace_back(path, fleet, inputs, places_of(assembly, p));
  std::vector<PlacedRuns::Least> least(placements.size());
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < runs.size(); ++i)
      least[i] = runs[i].least(seconds / kRounds / static_cast<double>(runs.size()), std::move(least[i]));
  FleetProfile profile;
  for (int d = 0; d < before.device_count(); ++d)
    profile.merge(profile_of(artifact_identity(artifact.view()),
                             {least[static_cast<size_t>(d)].groups, least[static_cast<size_t>(d)].run_us, 0, 1}));
  correct_times(assembly, profile);
  const place::Problem problem = problem_of(assembly, weights);
  Json out = {{"artifact", path},
              {"groups", assembly.groups.size()},
              {"profiled", Json::array()},
              {"placements", Json::array()}};
  std::vector<double> errors;
  for (size_t i = 0; i < placements.size(); ++i) {
    const double predicted = place::simulate(problem, place::as_lanes_run(problem, placements[i])).us;
    const double error = std::abs(predicted - least[i].run_us) / least[i].run_us;
    const bool is_profiled = i < before.devices.size();
    if (!is_profiled) errors.push_back(error);
    out[is_profiled ? "profiled" : "placements"].push_back({{"predicted_us", predicted},
                                                            {"measured_us", least[i].run_us},
                                                            {"error", error},
                                                            {"groups", places_json(assembly, placements[i])}});
  }
  std::sort(errors.begin(), errors.end());
  out["median_error"] = errors.empty() ? 0 : errors[errors.size() / 2];
  return out;
}

}  // namespace gcg::tools
