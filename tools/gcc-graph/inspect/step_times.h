// The file of `bench --profile --json`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gcg::tools {

/// {"target", "profile": {"steps": [{"step", "us", "share", "source", optional "roofline" and "note"}]}}. Throws Error
/// if the file holds something else.
nlohmann::ordered_json read_step_times(const std::string& path);

}  // namespace gcg::tools
