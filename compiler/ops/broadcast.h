// Operators over inputs that broadcast to each other (numpy rules): types, contents and reference loops.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ops/pointwise.h"

namespace gcg {

/// The broadcast extents of all present inputs from `first` on.
Shape broadcast_inputs(InferContext& ctx, int first = 0);
/// The output's contents, computed element by element from the contents of all inputs, which must have rank 0 or 1.
void combine_contents(InferContext& ctx, const std::function<std::optional<Dim>(const std::vector<Dim>&)>& f);

/// Before opset 7 operands broadcast only if the attribute `broadcast` is set. The second operand's first dimension can
/// be aligned with dimension `axis` of the first one. Such a second operand gets extents of 1 appended.
void upgrade_broadcast(UpgradeContext& ctx);
/// Appends extents of 1 to `second`, so that its first dimension aligns with dimension `axis` >= 0 of `first`.
ValueId aligned(Graph& graph, const std::string& name, ValueId first, ValueId second, int64_t axis);
/// The same for inputs 0 and 1 of the node.
void align_second_operand(UpgradeContext& ctx, int64_t axis);

/// Concrete broadcasting for references; fails, naming the node, if extents do not agree.
std::vector<int64_t> broadcast_extents(const ReferenceContext& ctx);

/// Integer quotient towards zero as a Dim; nullopt unless both are numbers or the divisor is provably not negative.
std::optional<Dim> truncated_quotient(const Dim& a, const Dim& b);
/// 1 if a < b is proven, 0 if its opposite is proven, else nullopt.
std::optional<Dim> provably_less(const Dim& a, const Dim& b);
std::optional<Dim> provably_equal(const Dim& a, const Dim& b);

}  // namespace gcg
