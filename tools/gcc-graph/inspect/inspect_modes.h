// How threads share a CPU's plan, and why.
#pragma once

#include <nlohmann/json.hpp>

#include "artifact_schema/reader.h"

namespace gcg::tools {

nlohmann::ordered_json mode_json(const gart::fb::Mode& mode);

}  // namespace gcg::tools
