// Placement problems as JSON, for tests with other solvers. Numbers and defaults are those of compiler/place/problem.h:
// {"devices": [{"name", "memory"}], "links": [[bytes_per_us, us], ..] (devices x devices; 0: infinite), "groups":
// [{"name", "us": [..] (null: not supported), "weights", "working"}], "values": [{"bytes", "producer", "given",
// "readers", "wanted", "wanted_on"}], "weights": [bytes], "links_queue"}.
#pragma once

#include <nlohmann/json.hpp>

#include "compiler/place/place.h"
#include "compiler/place/simulate.h"

namespace gcg::place {

Problem problem_from(const nlohmann::json& json);
Placement placement_from(const nlohmann::json& json);
nlohmann::json to_json(const Placement& placement);
nlohmann::json to_json(const Timeline& timeline);

}  // namespace gcg::place
