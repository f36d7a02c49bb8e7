// JSON that a user hands in, read in one way everywhere: limits of size and depth, no field twice, and a sentence that
// names the text, line and column. And its text where names may be no UTF-8.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gcg {

using Json = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 64;                   // lists and objects within each other
inline constexpr size_t kMaxJsonBytes = size_t{64} << 20;  // of a text

/// `source` is what messages call the text. Throws CompileError.
Json parse_json(std::string_view text, const std::string& source);

/// Bytes that are no UTF-8 become U+FFFD. `indent`: spaces per level; -1: all in one line.
std::string json_text(const Json& json, int indent = 2);

/// At most 40 characters of it, for messages; it is not written out whole first.
std::string json_excerpt(const Json& json);

}  // namespace gcg
