// Operators over inputs that broadcast to each other (numpy rules): types, contents and reference loops.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ops/pointwise.h"

namespace gcg {

/// The extents that broadcasting all present inputs from `first` on gives.
Shape broadcast_inputs(InferContext& ctx, int first = 0);
/// Contents of the output from those of all inputs, element by element; needs contents of rank 0 or 1 everywhere.
void combine_contents(InferContext& ctx, const std::function<std::optional<Dim>(const std::vector<Dim>&)>& f);

/// Before opset 7 operands broadcast only on demand (attribute `broadcast`), and the second one's first dimension could
/// be told to meet dimension `axis` of the first one's: such a second operand gets extents of 1 after its own.
void upgrade_broadcast(UpgradeContext& ctx);
/// `second` with extents of 1 after its own, so that its first dimension meets dimension `axis` >= 0 of `first`.
ValueId aligned(Graph& graph, const std::string& name, ValueId first, ValueId second, int64_t axis);
/// The same for inputs 0 and 1.
void align_second_operand(UpgradeContext& ctx, int64_t axis);

/// Concrete broadcasting for references; fails naming the node when extents do not agree.
std::vector<int64_t> broadcast_extents(const ReferenceContext& ctx);

/// Integer quotient towards zero as a Dim; nullopt unless the divisor is provably not negative or both are numbers.
std::optional<Dim> truncated_quotient(const Dim& a, const Dim& b);
/// 1 if provably a < b, 0 if provably not, else nullopt.
std::optional<Dim> provably_less(const Dim& a, const Dim& b);
std::optional<Dim> provably_equal(const Dim& a, const Dim& b);

}  // namespace gcg
