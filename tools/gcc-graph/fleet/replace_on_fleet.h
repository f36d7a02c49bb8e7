// Runs and measures a model and places it again, until a round gains too little.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/gcc-graph/fleet/run_on_fleet.h"

namespace gcg::tools {

/// Each round runs requests one at a time for `seconds`. It uses the placement that the times of the last round predict
/// to be the fastest. The loop ends when no placement has a predicted gain of 2 % and twice the noise. It keeps the
/// placement with the shortest measured time, and prints each round's predicted and measured times. Writes all times to
/// the file of --monitor, and the artifact with the placement to `output`, if they are given. The input file is not
/// changed.
nlohmann::ordered_json replace_on_fleet(const std::string& artifact, const RunOnFleet& fleet,
                                        const InputOptions& inputs, double seconds, const std::string& output);

}  // namespace gcg::tools
