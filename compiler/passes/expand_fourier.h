// Expands Fourier transforms of known length into matrix products.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no STFT or DFT is left, subgraphs included, if its length and number of rows are known and its matrix has a
///   moderate size. A DFT of unknown length remains only in a branch for long lines. The graph is inferred.
/// Before: constant folding (a constant window is multiplied into the matrix), fusion.
///
/// The transform of a line of n complex or real numbers is its vector times a constant matrix. If the length of a DFT
/// is composite, two short products suffice: the line is treated as a matrix, first its columns are transformed, then
/// its rows.
///   DFT(x[..., n, parts]) = Reshape(MatMul(Reshape(x, [..., n*parts]), M [n*parts, m*2]), [..., m, 2])
///   STFT(x[B, samples]) = the same over Gather(x, frame * step + t) [B, frames, n], with M's rows times the window
bool expand_fourier(Graph& graph);

}  // namespace gcg
