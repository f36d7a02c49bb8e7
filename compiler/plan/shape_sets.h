// The sets of extents that a model is planned for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/dim.h"

namespace gcg {

/// Every combination of the values asked for by --dim; the empty one (the plan that leaves all symbols open) comes
/// last.
std::vector<SymbolValues> shape_sets(const std::vector<std::pair<std::string, std::vector<int64_t>>>& dims);

/// "batch=1,seq=128".
std::string describe(const SymbolValues& set);

}  // namespace gcg
