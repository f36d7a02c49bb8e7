// Chains: what runs one after another anyway.
#pragma once

#include "compiler/partition/dag.h"

namespace gcg {

/// Divides each group into the fewest chains of nodes, each reading the one before it, that cover it (a path cover, by
/// matching). The longest way stays in one chain where it can.
Groups by_chains(const Dag& dag, const Groups& groups);

}  // namespace gcg
