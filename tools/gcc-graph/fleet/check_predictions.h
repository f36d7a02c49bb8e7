// Measures how far predictions of placements are from measured times.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/gcc-graph/fleet/run_on_fleet.h"

namespace gcg::tools {

/// Measures the groups in two kinds of placements: all groups on one device, as far as it supports them, and each group
/// on the next device. From these times it predicts `count` other, random placements, and measures those, too. All
/// placements are measured in turn, for `seconds` in total; the fastest run of each counts. Returns {"profiled": the
/// first, "placements": [{"predicted_us", "measured_us", "error", "groups", "again_us": of some, loaded and measured
/// once more}], "median_error"}; an error is a fraction of the measured time.
nlohmann::ordered_json check_predictions(const std::string& artifact, const RunOnFleet& fleet,
                                         const InputOptions& inputs, double seconds, int count);

}  // namespace gcg::tools
