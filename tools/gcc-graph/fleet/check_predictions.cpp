#include "tools/gcc-graph/fleet/check_predictions.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "gcc_graph/place.h"
#include "tools/gcc-graph/fleet/measure_placement.h"
#include "tools/gcc-graph/io/artifact_identity.h"
#include "tools/gcc-graph/io/assembly_section.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kRounds = 5;

using gcc_graph::Placement;
using gcc_graph::Placing;

Placement all_on(const Placing& placing, Placement placement, int device) {
  for (size_t g = 0; g < placement.device.size(); ++g)
    if (placing.runs_on(static_cast<int>(g), device)) placement.device[g] = device;
  return placement;
}

Placement anywhere(const Placing& placing, Placement placement, std::mt19937& random) {
  const int count = static_cast<int>(placing.devices().size());
  for (size_t g = 0; g < placement.device.size(); ++g) {
    std::vector<int> devices;
    for (int d = 0; d < count; ++d)
      if (placing.runs_on(static_cast<int>(g), d)) devices.push_back(d);
    placement.device[g] = devices[random() % devices.size()];
  }
  return placement;
}

}  // namespace

Json check_predictions(const std::string& path, const RunOnFleet& fleet, const InputOptions& inputs, double seconds,
                       int count) {
  const MappedArtifact artifact(path);
  if (artifact.view().assembly().empty()) fail(path, ": there is no assembly in it; compile with --fleet makes one");
  Placing placing = placing_of(artifact.view());
  const Placement placed = placing.placement();
  const int devices = static_cast<int>(placing.devices().size());
  std::mt19937 random(1);
  std::vector<Placement> placements;
  for (int d = 0; d < devices; ++d) placements.push_back(all_on(placing, placed, d));
  for (int i = 0; i < count; ++i) placements.push_back(anywhere(placing, placed, random));
  std::deque<PlacedRuns> runs;
  for (const Placement& p : placements) runs.emplace_back(path, fleet, inputs, places_of(placing, p));
  std::vector<PlacedRuns::Least> least(placements.size());
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < runs.size(); ++i)
      least[i] = runs[i].least(seconds / kRounds / static_cast<double>(runs.size()), std::move(least[i]));
  gcc_graph::FleetProfile profile;
  for (size_t d = 0; d < static_cast<size_t>(devices); ++d)
    profile = gcc_graph::merged(
        profile, profile_of(artifact_identity(artifact.view()), {least[d].groups, least[d].run_us, 0, 1}));
  placing.correct(profile);
  Json out = {{"artifact", path},
              {"groups", placing.groups().size()},
              {"profiled", Json::array()},
              {"placements", Json::array()}};
  std::vector<double> errors;
  for (size_t i = 0; i < placements.size(); ++i) {
    const double predicted = placing.predict(placements[i]);
    const double error = std::abs(predicted - least[i].run_us) / least[i].run_us;
    const bool is_profiled = i < static_cast<size_t>(devices);
    if (!is_profiled) errors.push_back(error);
    out[is_profiled ? "profiled" : "placements"].push_back({{"predicted_us", predicted},
                                                            {"measured_us", least[i].run_us},
                                                            {"error", error},
                                                            {"groups", places_json(placing, placements[i])}});
  }
  std::sort(errors.begin(), errors.end());
  out["median_error"] = errors.empty() ? 0 : errors[errors.size() / 2];
  return out;
}

}  // namespace gcg::tools
