// Runs, measures and places anew until a round gains too little.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/gcc-graph/fleet/run_on_fleet.h"

namespace gcg::tools {

/// Each round runs requests one at a time for `seconds`, with groups where the last round's times say that they end
/// soonest. It ends where no placement promises to gain 2 % and twice the noise. Keeps the placement that was measured
/// least, says what each round predicted and what it measured, and writes all times to --monitor, and the artifact with
/// that placement to `output`, if it is named. The file itself stays as it is.
nlohmann::ordered_json replace_on_fleet(const std::string& artifact, const RunOnFleet& fleet,
                                        const InputOptions& inputs, double seconds, const std::string& output);

}  // namespace gcg::tools
