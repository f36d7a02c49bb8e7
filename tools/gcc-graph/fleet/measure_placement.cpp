#include "tools/gcc-graph/fleet/measure_placement.h"

#include <algorithm>
#include <chrono>

namespace gcg::tools {

using Clock = std::chrono::steady_clock;

std::vector<gart::fleet::GroupPlace> places_of(const gcc_graph::Placing& placing,
                                               const gcc_graph::Placement& placement) {
  const std::vector<std::string> groups = placing.groups(), devices = placing.devices();
  std::vector<gart::fleet::GroupPlace> places;
  places.reserve(groups.size());
  for (size_t g = 0; g < groups.size(); ++g)
    places.push_back({groups[g], devices[static_cast<size_t>(placement.device[g])]});
  return places;
}

nlohmann::ordered_json places_json(const gcc_graph::Placing& placing, const gcc_graph::Placement& placement) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (const gart::fleet::GroupPlace& p : places_of(placing, placement)) groups[p.group] = p.device;
  return groups;
}

PlacedRuns::PlacedRuns(const std::string& artifact, const RunOnFleet& fleet, const InputOptions& options,
                       const std::vector<gart::fleet::GroupPlace>& places)
    : program_(fleet.load(artifact, options, places)),
      inputs_(collect_inputs(program_.inputs(), options)),
      request_(fleet.request(program_, inputs_)) {}

/// Calls `ran` after each run.
template <class Ran>
void PlacedRuns::run_for(double seconds, int least_runs, const Ran& ran) {
  const auto start = Clock::now();
  for (int runs = 0; runs < least_runs || std::chrono::duration<double>(Clock::now() - start).count() < seconds;
       ++runs) {
    value_or_throw(request_.run());
    ran();
  }
}

gart::fleet::Times PlacedRuns::measure(double seconds) {
  program_.forget_times();
  run_for(seconds, 10, [] {});
  return program_.times();
}

PlacedRuns::Least PlacedRuns::least(double seconds, Least known) {
  run_for(seconds, 2, [&] {
    const std::vector<gart::fleet::PartTime> parts = request_.times();
    double end_us = 0;
    for (const gart::fleet::PartTime& part : parts) end_us = std::max(end_us, part.end_us);
    if (known.run_us > 0 && known.run_us <= end_us) return;
    known = {end_us, {}};
    for (const gart::fleet::PartTime& part : parts) {
      const auto same = std::find_if(known.groups.begin(), known.groups.end(),
                                     [&](const gart::fleet::GroupTime& t) { return t.group == part.group; });
      if (same == known.groups.end())
        known.groups.push_back(
            {part.group, part.device, part.end_us - part.begin_us, 0, 0, part.begin_us, 1, part.crossed});
      else
        same->operation_us += part.end_us - part.begin_us, same->crossed = same->crossed || part.crossed;
    }
  });
  return known;
}

}  // namespace gcg::tools
