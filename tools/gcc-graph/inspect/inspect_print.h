#pragma once

#include <nlohmann/json.hpp>

namespace gcg::tools {

/// Prints the report of `inspect --json` as readable lines.
void print_report(const nlohmann::ordered_json& report);

}  // namespace gcg::tools
