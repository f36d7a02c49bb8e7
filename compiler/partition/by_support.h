// Groups nodes that the same devices run.
#pragma once

#include "compiler/partition/dag.h"

namespace gcg {

/// Forms groups of nodes of one class (a set of devices), in a valid execution order. There are never more groups than
/// runs_of(classes) has. With two classes, the number of groups is minimal, because the path with the most changes of
/// class needs as many (levels are compared for both first classes). A node that can wait for its readers at no cost
/// joins their group. With more classes, the result is the best of a few heuristics; `thorough` tries more of them.
///
///     a(x) -> b(y) -> c(x) -> d(x), e(x) -> d      {a} {b} {c,d,e}
///     m(x) -> n(x), q(y) -> n                      {q} {m,n}
Groups by_support(const Dag& dag, const std::vector<int>& classes, bool thorough = false);

/// Maximal runs of one class in the order of the nodes.
Groups runs_of(const std::vector<int>& classes);

}  // namespace gcg
