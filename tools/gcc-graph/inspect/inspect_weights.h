// Which weights an artifact holds in several forms, for `inspect`.
#pragma once

#include <nlohmann/json.hpp>

#include "artifact_schema/spans.h"

namespace gcg::tools {

/// {"bytes": of all but the largest form of each, "most": [{"name": ..., "bytes": ...}, ...]}; empty if the file does
/// not say.
nlohmann::ordered_json stored_twice_json(const gart::fb::Manifest& manifest);

/// Ends the line about weights; `report` may hold "stored_twice".
void print_stored_twice(const nlohmann::ordered_json& report);

}  // namespace gcg::tools
