// "Did you mean": the known names that are nearest to an unknown one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gcg {

/// At most `most` of them, the nearest first, by edits (a letter more, less, other) and common beginnings; ties by
/// name.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known, size_t most = 3);

/// "; the nearest: 'a', 'b'", for the end of a message; empty where nothing is known.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace gcg
