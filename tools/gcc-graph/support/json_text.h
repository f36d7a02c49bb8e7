// JSON as text. Names in files may be invalid UTF-8; such bytes become U+FFFD.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gcg::tools {

/// `indent`: spaces per level; -1: all in one line.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = 2) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace gcg::tools
