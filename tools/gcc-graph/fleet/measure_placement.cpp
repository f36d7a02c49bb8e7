#include "tools/gcc-graph/fleet/measure_placement.h"

#include <chrono>

namespace gcg::tools {

using Clock = std::chrono::steady_clock;

std::vector<gart::fleet::GroupPlace> places_of(const gart::fb::AssemblyT& assembly, const place::Placement& placement) {
  std::vector<gart::fleet::GroupPlace> places;
  for (size_t g = 0; g < assembly.groups.size(); ++g)
    places.push_back({assembly.groups[g]->name, assembly.devices[static_cast<size_t>(placement.device[g])]->name});
  return places;
}

nlohmann::ordered_json places_json(const gart::fb::AssemblyT& assembly, const place::Placement& placement) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (const gart::fleet::GroupPlace& p : places_of(assembly, placement)) groups[p.group] = p.device;
  return groups;
}

PlacedRuns::PlacedRuns(const std::string& artifact, const RunOnFleet& fleet, const InputOptions& options,
                       const std::vector<gart::fleet::GroupPlace>& places)
    : program_(fleet.load(artifact, options, places)),
      inputs_(collect_inputs(program_.inputs(), options)),
      request_(fleet.request(program_, inputs_)) {}

gart::fleet::Times PlacedRuns::measure(double seconds) {
  constexpr int kLeastRuns = 10;
  program_.forget_times();
  const auto start = Clock::now();
  for (int runs = 0; runs < kLeastRuns || std::chrono::duration<double>(Clock::now() - start).count() < seconds; ++runs)
    value_or_throw(request_.run());
  return program_.times();
}

}  // namespace gcg::tools
