// Random graphs for tests of cuts.
#pragma once

#include <cstdint>
#include <string>

namespace gcg::test {

/// The text of a graph of about `nodes` nodes over values f32[n,4] with inputs x and y, deterministic by the seed:
/// chains, branches, values that many read, values read far away, Ifs and Loops with captures, extents that depend on
/// data, shapes that are computed.
std::string random_graph(uint32_t seed, int nodes);

}  // namespace gcg::test
