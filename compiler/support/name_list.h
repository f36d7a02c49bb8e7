// Names that a user lists with commas between them.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace gcg {

/// The names in lists like "a,b". Names may have commas, too: at each place the longest piece of the list counts that
/// is known, and what begins no known name ends at the next comma. The time is that of the lists' length times the
/// commas within the longest known name.
std::vector<std::string> split_names(const std::vector<std::string>& lists, const std::set<std::string>& known);

}  // namespace gcg
