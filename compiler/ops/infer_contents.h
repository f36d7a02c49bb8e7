// Computes elements of small integer tensors as expressions over the symbols, with the operators' own lowerings.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Fills in contents that inference left open, for the node's small integer and boolean outputs of any rank. Every
/// element must follow from constants and known contents. The lowering is evaluated at each index.
void infer_contents(Graph& graph, const Node& node);

/// True if `d` is a number of this type in every run. A Dim is signed and does not wrap around, so only such Dims
/// compute and compare as the machine does. Types of 32 bits and more are assumed to hold every extent.
bool holds(DType type, const Dim& d);
/// The elements of an integer or boolean tensor; nullopt if a Dim cannot hold one of them.
std::optional<std::vector<Dim>> as_contents(const Tensor& tensor);

}  // namespace gcg
