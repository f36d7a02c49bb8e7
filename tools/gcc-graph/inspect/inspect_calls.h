// The library calls in an artifact, for `inspect`.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "artifact_schema/spans.h"

namespace gcg::tools {

/// [{"name": "cublasLt", "from": "12.0.0", "below": "14.0.0", "all_calls_from": "12.0.0"}, ...]. Versions below "from"
/// cannot be used, or lack a call that has no fallback. From "all_calls_from" on, the library runs all calls and no
/// kernel replaces one.
nlohmann::ordered_json libraries_json(const gart::fb::Manifest& manifest);

/// {"cublasLt": number of steps, ...}
nlohmann::ordered_json calls_json(const gart::fb::Manifest& manifest, const gart::fb::Plan& plan);

/// One row per call step. `slot` returns a slot's value as text.
nlohmann::ordered_json call_list_json(const gart::fb::Manifest& manifest, const gart::fb::Plan& plan,
                                      const std::function<std::string(uint32_t)>& slot);

void print_libraries(const nlohmann::ordered_json& libraries);
void print_call(const nlohmann::ordered_json& call);

}  // namespace gcg::tools
