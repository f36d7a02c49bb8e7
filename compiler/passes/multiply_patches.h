// Turns convolutions over patches into matrix products.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// A convolution whose windows touch but do not overlap becomes a product of patches, if the input has fewer than 16
/// channels. The lines of such a tap are too short to be copied well. One transposed copy of the input makes every
/// patch a line. Vision transformers begin with such a convolution.
/// Requires: clean-up has run. Ensures: the graph is inferred.
/// Example: Conv(x[n,3,224,224], w[768,3,16,16])  ->
///          View(Transpose(MatMul(patches[n,196,768], Transpose(View(w)))))
bool multiply_patches(Graph& graph);

}  // namespace gcg
