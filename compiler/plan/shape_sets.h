// The sets of extents for which a model is planned.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/dim.h"

namespace gcg {

/// Every combination of the values that --dim lists. The empty set, whose plan leaves all symbols open, comes last.
std::vector<SymbolValues> shape_sets(const std::vector<std::pair<std::string, std::vector<int64_t>>>& dims);

/// "batch=1,seq=128".
std::string describe(const SymbolValues& set);

}  // namespace gcg
