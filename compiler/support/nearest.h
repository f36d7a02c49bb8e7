// "Did you mean": the known names nearest to an unknown one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gcg {

/// At most `most` names, nearest first. The distance counts edits (a letter added, removed or changed) and common
/// prefixes; ties are sorted by name.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known, size_t most = 3);

/// "; the nearest: 'a', 'b'", for the end of a message; empty if `known` is empty.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace gcg
