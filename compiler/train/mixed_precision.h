// Products in 16 bits for training: precision=f16 and precision=bf16.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Rounds the f32 operands and results of all products and convolutions to `half`, in subgraphs, too. Rounded values
/// stay f32: each passes through a Cast to `half` and a Cast back. The gradients of these Casts round the products of
/// the backward pass in the same way. Sums inside products are f32, as are all other operators, as in PyTorch's
/// autocast. Results of DequantizeLinear are not rounded, because products read the packed weights. Requires: values
/// have types, and the graph is not differentiated yet.
void round_products(Graph& graph, DType half);

}  // namespace gcg
