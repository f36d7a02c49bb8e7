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
constexpr int kRounds = 20;  // many short rounds, because disturbances of a machine last longer than one measurement
constexpr int kTries = 100;
constexpr size_t kTwice = 3;  // number of placements that are loaded and measured twice, to show how much runs differ

using gcc_graph::Placement;
using gcc_graph::Placing;

Placement all_on(const Placing& placing, Placement placement, int device) {
  for (size_t g = 0; g < placement.device.size(); ++g)
    if (placing.runs_on(static_cast<int>(g), device)) placement.device[g] = device;
  return placement;
}

/// Puts each group on the next device, so that it reads values that another device made.
Placement in_turn(const Placing& placing, Placement placement, int first) {
  const int count = static_cast<int>(placing.devices().size());
  int next = first;
  for (int group : placement.order) {
    int tries = 0;
    while (!placing.runs_on(group, next) && ++tries < count) next = (next + 1) % count;
    placement.device[static_cast<size_t>(group)] = next;
    next = (next + 1) % count;
  }
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

/// Two placements per device: all groups on this device, and groups in turn on all devices, starting with this one. So
/// each group is measured with inputs from its own device and from other devices.
std::vector<Placement> profiled_placements(const Placing& placing) {
  std::vector<Placement> all;
  for (int d = 0; d < static_cast<int>(placing.devices().size()); ++d) {
    all.push_back(all_on(placing, placing.placement(), d));
    all.push_back(in_turn(placing, placing.placement(), d));
  }
  return all;
}

/// Random placements that are not among `others`; fewer than `count` if few are left.
std::vector<Placement> random_placements(const Placing& placing, const std::vector<Placement>& others, int count) {
  std::mt19937 random(1);
  std::vector<Placement> found;
  for (int tries = 0; static_cast<int>(found.size()) < count && tries < kTries * count; ++tries) {
    Placement p = anywhere(placing, placing.placement(), random);
    if (std::none_of(others.begin(), others.end(), [&](const Placement& o) { return o.device == p.device; }))
      found.push_back(std::move(p));
  }
  return found;
}

std::vector<PlacedRuns::Least> measure_in_turn(std::deque<PlacedRuns>& runs, double seconds) {
  std::vector<PlacedRuns::Least> least(runs.size());
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < runs.size(); ++i)
      least[i] = runs[i].least(seconds / kRounds / static_cast<double>(runs.size()), std::move(least[i]));
  return least;
}

}  // namespace

Json check_predictions(const std::string& path, const RunOnFleet& fleet, const InputOptions& inputs, double seconds,
                       int count) {
  const MappedArtifact artifact(path);
  if (artifact.view().assembly().empty()) fail(path, ": it has no fleet plan; compile it with --fleet");
  Placing placing = placing_of(artifact.view());
  const std::vector<Placement> profiled = profiled_placements(placing);
  std::vector<Placement> placements = random_placements(placing, profiled, count);
  placements.insert(placements.begin(), profiled.begin(), profiled.end());
  const size_t once = placements.size(), twice = std::min(kTwice, once - profiled.size());
  for (size_t i = 0; i < twice; ++i) placements.push_back(Placement(placements[profiled.size() + i]));
  std::deque<PlacedRuns> runs;
  for (const Placement& p : placements) runs.emplace_back(path, fleet, inputs, places_of(placing, p));
  const std::vector<PlacedRuns::Least> least = measure_in_turn(runs, seconds);
  gcc_graph::FleetProfile profile;
  for (size_t i = 0; i < profiled.size(); ++i)
    profile = gcc_graph::merged(
        profile, profile_of(artifact_identity(artifact.view()), {least[i].groups, least[i].run_us, 0, 1}));
  placing.correct(profile);
  Json out = {{"artifact", path},
              {"groups", placing.groups().size()},
              {"profiled", Json::array()},
              {"placements", Json::array()}};
  std::vector<double> errors;
  for (size_t i = 0; i < once; ++i) {
    const double predicted = placing.predict(placements[i]);
    const double error = std::abs(predicted - least[i].run_us) / least[i].run_us;
    const bool is_profiled = i < profiled.size();
    if (!is_profiled) errors.push_back(error);
    out[is_profiled ? "profiled" : "placements"].push_back({{"predicted_us", predicted},
                                                            {"measured_us", least[i].run_us},
                                                            {"error", error},
                                                            {"groups", places_json(placing, placements[i])}});
  }
  for (size_t i = 0; i < twice; ++i) out["placements"][i]["again_us"] = least[once + i].run_us;
  std::sort(errors.begin(), errors.end());
  out["median_error"] = errors.empty() ? 0 : errors[errors.size() / 2];
  return out;
}

}  // namespace gcg::tools
