// The weights that an artifact stores in several layouts or types, for `inspect`.
#pragma once

#include <nlohmann/json.hpp>

#include "artifact_schema/spans.h"

namespace gcg::tools {

/// {"bytes": ..., "most": [{"name": ..., "bytes": ...}, ...]}. "bytes" excludes the largest copy of each weight. Empty
/// if the file has no such data.
nlohmann::ordered_json stored_twice_json(const gart::fb::Manifest& manifest);

/// The end of the line about weights. `report` may lack "stored_twice".
void print_stored_twice(const nlohmann::ordered_json& report);

}  // namespace gcg::tools
