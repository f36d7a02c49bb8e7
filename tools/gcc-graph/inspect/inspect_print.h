#pragma once

#include <nlohmann/json.hpp>

namespace gcg::tools {

/// What `inspect --json` prints, as lines for people.
void print_report(const nlohmann::ordered_json& report);

}  // namespace gcg::tools
