// Latency and throughput of a model on a fleet.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/gcc-graph/fleet/run_on_fleet.h"

namespace gcg::tools {

/// Runs one request at a time for half of `seconds` and prints the results each second. Then runs as many requests at
/// once as are allowed. `trace`: file for the last of the single runs; empty: none.
nlohmann::ordered_json bench_fleet(const std::string& artifact, const RunOnFleet& fleet, const InputOptions& inputs,
                                   double seconds, const std::string& trace);

}  // namespace gcg::tools
