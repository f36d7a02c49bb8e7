// Parses JSON from users with common rules: limits of size and depth, no duplicate fields, and errors that name the
// text, line and column. Also prints JSON whose strings may be invalid UTF-8.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gcg {

using Json = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 64;                   // nesting of lists and objects
inline constexpr size_t kMaxJsonBytes = size_t{64} << 20;  // of the text

/// `source` is the name of the text in messages. Throws CompileError.
Json parse_json(std::string_view text, const std::string& source);

/// Invalid UTF-8 becomes U+FFFD. `indent`: spaces per level; -1: all on one line.
std::string json_text(const Json& json, int indent = 2);

/// At most 40 characters, for messages; it does not print the whole value first.
std::string json_excerpt(const Json& json);

}  // namespace gcg
