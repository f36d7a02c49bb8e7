// Rewrites Fourier transforms of unknown length.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/ops/spectrum.h"

namespace gcg {

/// Turns the DFT into an If. Lines of up to 1024 elements are multiplied by a matrix that the run computes; a DFT node
/// sums longer lines term by term. Returns false if the node must stay: its length is an input, or its results are
/// real.
/// Requires: x is f32.
bool write_open_dft(Graph& graph, NodeId id, const DftParams& params);

}  // namespace gcg
