// Measures how far predictions of placements are from measured times.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/gcc-graph/fleet/run_on_fleet.h"

namespace gcg::tools {

/// Measures the groups in two kinds of placements: all groups on one device, as far as it supports them, and each group
/// on the next device. From these times it predicts the times of `count` random placements, and measures these
/// placements, too. All placements are measured in turn, for `seconds` in total; the fastest run of each counts.
/// Returns {"profiled": the placements of the two kinds, "placements": [{"predicted_us", "measured_us", "error",
/// "groups", "again_us"}], "median_error"}. An error is a fraction of the measured time. Only some placements have
/// "again_us": they were loaded and measured twice.
nlohmann::ordered_json check_predictions(const std::string& artifact, const RunOnFleet& fleet,
                                         const InputOptions& inputs, double seconds, int count);

}  // namespace gcg::tools
