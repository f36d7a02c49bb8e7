// Divides groups into chains of nodes, which cannot run in parallel anyway.
#pragma once

#include "compiler/partition/dag.h"

namespace gcg {

/// Divides each group into the fewest chains that cover it (a path cover, by matching). Each node of a chain reads the
/// one before it. The longest path stays in one chain where possible.
Groups by_chains(const Dag& dag, const Groups& groups);

}  // namespace gcg
