// Runs on a fleet with groups where somebody wants them.
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

/// A program so placed, and a request of it.
class PlacedRuns {
 public:
  PlacedRuns(const std::string& artifact, const RunOnFleet& fleet, const InputOptions& options,
             const std::vector<gart::fleet::GroupPlace>& places);

  /// Runs one request after the other for `seconds`, ten at least. What these took.
  gart::fleet::Times measure(double seconds);

  struct Least {
    double run_us = 0;                           // 0: there was no run
    std::vector<gart::fleet::GroupTime> groups;  // of that run
  };
  /// Likewise, two at least; the run that took least, as on a machine of its own, or `known` if that took less.
  Least least(double seconds, Least known);

 private:
  template <class Ran>
  void run_for(double seconds, int least_runs, const Ran& ran);

  const gart::fleet::Program program_;
  const NamedTensors inputs_;
  gart::fleet::Request request_;
};

}  // namespace gcg::tools
