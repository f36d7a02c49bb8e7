// Low-rank adapters (LoRA, arXiv 2106.09685): small trained products beside the products of a model that stays as it
// is.
#pragma once

#include <set>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/train/train_options.h"

namespace gcg {

/// Adds x A B alpha / rank to each product x W that a target matches, for A [K, rank] and B [rank, N]. W is a constant
/// of a MatMul or Gemm, or the packed weights of a MatMulNBits. A target is a pattern (fits_pattern) for the name of
/// the node or of W, or for a part of it that ends before a '/' or '.': "*q_proj" matches "/layers.0/q_proj/MatMul". A
/// begins with uniform numbers, and B with zeros, so that the model is unchanged at first. Returns the names of all A
/// and B, which are constants: NAME.lora_A and NAME.lora_B. Requires: values have types. Throws CompileError if a
/// target matches nothing.
std::set<std::string> add_adapters(Graph& graph, const LoraOptions& options);

}  // namespace gcg
