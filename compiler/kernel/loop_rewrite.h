// Rewrites of a loop kernel's stages that leave their meaning: flat addresses, fewer axes.
#pragma once

#include <functional>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// Every load and store whose index is affine and free of data gets one linear index.
void flatten_accesses(Stage& stage, const std::vector<Operand>& operands);

/// Merges neighbours (a, b) of `axes` where every access moves through both as through one axis of extent a*b. Requires
/// flatten_accesses. The merged axis keeps b's id. Axes of extent 1 are dropped.
std::vector<Axis> merge_axes(Stage& stage, std::vector<Axis> axes);

/// Calls `see` with the operand and index of every load and of the store.
void visit_accesses(const Stage& stage,
                    const std::function<void(int operand, const std::vector<Expr>& index, bool store)>& see);

}  // namespace gcg
