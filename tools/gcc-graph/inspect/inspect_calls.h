// The calls of libraries in an artifact, for `inspect`.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "artifact_schema/spans.h"

namespace gcg::tools {

/// [{"name": "cublasLt", "from": "12.0.0", "below": "14.0.0", "all_calls_from": "12.0.0"}, ...]: older ones than "from"
/// are of no use, or leave a call undone that has no fallback; from "all_calls_from" on no call is left to a
/// kernel.
nlohmann::ordered_json libraries_json(const gart::fb::Manifest& manifest);

/// {"cublasLt": number of steps, ...}
nlohmann::ordered_json calls_json(const gart::fb::Manifest& manifest, const gart::fb::Plan& plan);

/// One row per call step; `slot` says a slot's value as text.
nlohmann::ordered_json call_list_json(const gart::fb::Manifest& manifest, const gart::fb::Plan& plan,
                                      const std::function<std::string(uint32_t)>& slot);

void print_libraries(const nlohmann::ordered_json& libraries);
void print_call(const nlohmann::ordered_json& call);

}  // namespace gcg::tools
