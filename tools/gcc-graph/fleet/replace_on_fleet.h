// Runs and measures a model and places it again, until a round gains too little.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/gcc-graph/fleet/run_on_fleet.h"

namespace gcg::tools {

/// Each round runs requests one at a time for `seconds`. It uses the placement that is the fastest one by the times of
/// the last round. The loop ends when no placement promises a gain of 2 % and twice the noise. It keeps the placement
/// with the shortest measured time, and prints each round's predicted and measured times. If --monitor is given, it
/// writes all times there; if `output` is given, it writes the artifact with the placement there. The input file is not
/// changed.
nlohmann::ordered_json replace_on_fleet(const std::string& artifact, const RunOnFleet& fleet,
                                        const InputOptions& inputs, double seconds, const std::string& output);

}  // namespace gcg::tools
