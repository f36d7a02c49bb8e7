// Runs, measures and places again, until a round gains too little.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/gcc-graph/fleet/run_on_fleet.h"

namespace gcg::tools {

/// Each round runs requests one at a time for `seconds`, with the placement that the last round's times predict to be
/// fastest. The loop ends when no placement promises a gain of 2 % and twice the noise. It keeps the placement with the
/// shortest measured time, and prints each round's predicted and measured times. It writes all times to --monitor, and
/// the artifact with the placement to `output`, if these are given. The input file is not changed.
nlohmann::ordered_json replace_on_fleet(const std::string& artifact, const RunOnFleet& fleet,
                                        const InputOptions& inputs, double seconds, const std::string& output);

}  // namespace gcg::tools
