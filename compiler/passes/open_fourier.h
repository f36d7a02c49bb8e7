// Fourier transforms whose length only a run knows.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/ops/spectrum.h"

namespace gcg {

/// Writes the DFT as an If: lines of up to 1024 elements are multiplied by a matrix that the run computes, longer ones
/// summed term by term by a DFT node. False where the node has to stay: its length is an input, or it makes reals.
/// Requires: x is f32.
bool write_open_dft(Graph& graph, NodeId id, const DftForm& form);

}  // namespace gcg
