// Runs on a fleet with a given placement of groups.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gcc_graph/place.h"
#include "tools/gcc-graph/fleet/run_on_fleet.h"

namespace gcg::tools {

std::vector<gart::fleet::GroupPlace> places_of(const gcc_graph::Placing& placing,
                                               const gcc_graph::Placement& placement);

/// {group: device}.
nlohmann::ordered_json places_json(const gcc_graph::Placing& placing, const gcc_graph::Placement& placement);

/// A program with this placement, and a request of it.
class PlacedRuns {
 public:
  PlacedRuns(const std::string& artifact, const RunOnFleet& fleet, const InputOptions& options,
             const std::vector<gart::fleet::GroupPlace>& places);

  /// Runs one request after the other for `seconds`, at least ten times. Returns the measured times.
  gart::fleet::Times measure(double seconds);

  struct Least {
    double run_us = 0;                           // 0: there was no run
    std::vector<gart::fleet::GroupTime> groups;  // times of the groups in that run
  };
  /// Runs one request after the other for `seconds`, at least twice. Returns the fastest run, which other processes
  /// disturbed least, or `known` if that was faster.
  Least least(double seconds, Least known);

 private:
  template <class Ran>
  void run_for(double seconds, int least_runs, const Ran& ran);

  const gart::fleet::Program program_;
  const NamedTensors inputs_;
  gart::fleet::Request request_;
};

}  // namespace gcg::tools
