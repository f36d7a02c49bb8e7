// Random graphs of a few operators, for property tests.
#pragma once

#include <cstdint>

#include "compiler/ir/graph.h"

namespace gcg::test {

/// 4 to 20 nodes: pointwise, reductions, softmax, transposes, concats, products and convolutions over values that are
/// used any number of times; types inferred. Every value that nothing reads is an output, and so are some others. Odd
/// seeds have one symbolic extent, "n".
Graph random_graph(uint32_t seed);

}  // namespace gcg::test
