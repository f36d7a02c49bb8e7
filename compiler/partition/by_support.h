// Groups of nodes that the same devices run.
#pragma once

#include "compiler/partition/dag.h"

namespace gcg {

/// Nodes of one class (a set of devices) form groups, in an order that runs and never more than there are maximal runs
/// of one class in the order of the nodes. Of two classes, exactly as few as there can be: the longest way through the
/// graph changes class as often (compare levels, by either class to start with). What can wait for its readers at no
/// cost goes to them. Of more classes: the best of what a few rules of choice give; `thorough` tries more of them.
///
///     a(x) -> b(y) -> c(x) -> d(x), e(x) -> d      {a} {b} {c,d,e}
///     m(x) -> n(x), q(y) -> n                      {q} {m,n}
Groups by_support(const Dag& dag, const std::vector<int>& classes, bool thorough = false);

/// Maximal runs of one class in the order of the nodes.
Groups runs_of(const std::vector<int>& classes);

}  // namespace gcg
