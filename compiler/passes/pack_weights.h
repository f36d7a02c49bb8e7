// Pass: pack_weights (target pass, CPU).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Packs constant right operands of matrix products into panels. Marks a product `near` if the CPU's last-level cache
/// holds all constants from run to run.
/// Requires: Gemm has become MatMul.
/// Ensures: no MatMul with a constant f32 right operand [K, N] of at least 4096 elements is left.
/// Before: fold_constants, which turns the gart.PackMatMul nodes into constants.
/// Example: MatMul(a, B[64, 100]) -> gart.PackedMatMul(a, gart.PackMatMul(B)) {n=100, k=64, columns=48}
bool pack_weights(Graph& graph, const Target& target);

}  // namespace gcg
