// Puts the readers of one value into one group.
#pragma once

#include "compiler/partition/dag.h"

namespace gcg {

/// The producer of a value, then its readers.
using SharedValue = std::vector<int>;

/// For each value with several readers, moves the producer and the readers into one group, so that all read one
/// address. Only readers of the producer's class are moved. A group that would be part of a cycle is divided again.
Groups by_shared_values(const Dag& dag, const Groups& groups, const std::vector<int>& classes,
                        const std::vector<SharedValue>& values);

}  // namespace gcg
