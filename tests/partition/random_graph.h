// Random graphs for tests of cuts.
#pragma once

#include <cstdint>
#include <string>

namespace gcg::test {

/// The text of a graph of about `nodes` nodes over values f32[n,4] with inputs x and y, determined by the seed. The
/// graph has chains, branches, values with many readers or distant readers, Ifs and Loops with captures, data-dependent
/// extents, and computed shapes.
std::string random_graph(uint32_t seed, int nodes);

}  // namespace gcg::test
