// How far the predictions of placements are from what they take.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/gcc-graph/fleet/run_on_fleet.h"

namespace gcg::tools {

/// Measures groups with all of them on each device, as far as it supports them, and with one after the other on the
/// next device, and predicts from that what `count` other, random placements take; then measures those. All are
/// measured in turn, for `seconds` together, and of each the run that took least counts. {"profiled": the first,
/// "placements": [{"predicted_us", "measured_us", "error", "groups", "again_us": of some, loaded and measured once
/// more}], "median_error"}; an error is a share of what was measured.
nlohmann::ordered_json check_predictions(const std::string& artifact, const RunOnFleet& fleet,
                                         const InputOptions& inputs, double seconds, int count);

}  // namespace gcg::tools
