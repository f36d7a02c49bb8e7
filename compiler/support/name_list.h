// Splits comma-separated lists of names.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace gcg {

/// The names in lists like "a,b". Names may contain commas. At each position the longest known name is taken; an
/// unknown name ends at the next comma. Time: the length of the lists times the number of commas in the longest known
/// name.
std::vector<std::string> split_names(const std::vector<std::string>& lists, const std::set<std::string>& known);

}  // namespace gcg
