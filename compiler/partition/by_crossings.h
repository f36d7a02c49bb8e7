// Divides groups whose nodes read values of, or make values for, different other groups.
#pragma once

#include "compiler/partition/dag.h"

namespace gcg {

/// Nodes of a group stay together if they wait for the same other groups and the same other groups wait for them.
/// Therefore the first nodes of a group need not wait for an input of its last nodes, and no other group waits for
/// nodes that it does not need.
///
///     {m1, m, q1}, {q}: m1 -> m, q1 -> q      {m1, m} {q1} {q}
Groups by_crossings(const Dag& dag, const Groups& groups);

}  // namespace gcg
