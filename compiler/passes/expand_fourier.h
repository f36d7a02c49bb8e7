// Fourier transforms of known length as matrix products.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no STFT or DFT is left, in bodies neither, whose length and number of rows are numbers and whose matrix is
/// of
///   moderate size; a DFT whose length only a run knows is in a branch for long lines; the graph is inferred.
/// Before: constant folding (a constant window goes into the matrix), fusion.
///
/// A line of n complex or real numbers, as a vector, times a constant matrix is its transform as a vector:
/// Where the length is a product, two short products do for a DFT: of the columns of the line as a matrix, and of its
/// rows.
///   DFT(x[..., n, parts]) = Reshape(MatMul(Reshape(x, [..., n*parts]), M [n*parts, m*2]), [..., m, 2])
///   STFT(x[B, samples]) = the same over Gather(x, frame * step + t) [B, frames, n], with M's rows times the window
bool expand_fourier(Graph& graph);

}  // namespace gcg
