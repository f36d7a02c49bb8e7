// Random graphs of a few operators, for property tests.
#pragma once

#include <cstdint>

#include "compiler/ir/graph.h"

namespace gcg::test {

/// A graph of 4 to 20 nodes: pointwise operators, reductions, softmax, transposes, concats, products and convolutions
/// over values with any number of readers. Types are inferred. Every unread value is an output, and so are some others.
/// Graphs with odd seeds have one symbolic extent, "n".
Graph random_graph(uint32_t seed);

}  // namespace gcg::test
