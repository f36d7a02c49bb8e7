// The threading mode of each CPU plan, and the reason for it.
#pragma once

#include <nlohmann/json.hpp>

#include "artifact_schema/reader.h"

namespace gcg::tools {

nlohmann::ordered_json mode_json(const gart::fb::Mode& mode);

}  // namespace gcg::tools
