// Elements of small integer tensors as expressions over the symbols, from the operators' own lowerings.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Fills in the contents of the node's small integer and boolean outputs that its inference left open, where every
/// element follows from constants and known contents: the lowering is evaluated at each index. Any rank.
void infer_contents(Graph& graph, const Node& node);

/// Is `d` in every run a number of this type? Only such Dims compare and compute as the machine does: a Dim is signed
/// and does not wrap around. Types of 32 bits and more are taken to hold every extent.
bool holds(DType type, const Dim& d);
/// The elements of an integer or boolean tensor; nullopt where a Dim does not hold one of them.
std::optional<std::vector<Dim>> as_contents(const Tensor& tensor);

}  // namespace gcg
