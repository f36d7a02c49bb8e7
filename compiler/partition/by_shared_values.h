// Readers of one value stay together.
#pragma once

#include "compiler/partition/dag.h"

namespace gcg {

/// What makes a value, then what reads it.
using SharedValue = std::vector<int>;

/// Takes the nodes of each value with several readers out of their groups into one, so that all read one address; of
/// nodes of other classes than the maker's it takes none. What that would put into a circle is divided again.
Groups by_shared_values(const Dag& dag, const Groups& groups, const std::vector<int>& classes,
                        const std::vector<SharedValue>& values);

}  // namespace gcg
