// Selects and sorts in programs.
#pragma once

#include <functional>

#include "compiler/ops/program_builder.h"

namespace gcg {

/// Element i (i64) of a line, as a number of f32, f64 or an integer type.
using LineElement = std::function<Expr(const Expr& i)>;

/// Adds statements that find the best k of n elements, k <= n: the largest or the smallest, in order. Among equal
/// elements the first is best, and NaN counts as the largest number. From rank 0 on, each result executes `store` with
/// its rank and its position in the line. Time: n + k log k for few of many, n for all.
void select_best(ProgramBuilder& p, const Dim& n, const Dim& k, const LineElement& element, bool largest,
                 const std::function<void(const Expr& rank, const Expr& place)>& store);
/// The same, but `store` gets the element instead of its position. It needs half of the memory. Both zeros may come out
/// as 0, and NaN as another NaN.
void select_best_values(ProgramBuilder& p, const Dim& n, const Dim& k, const LineElement& element, bool largest,
                        const std::function<void(const Expr& rank, const Expr& value)>& store);

/// An unsigned integer (u32, or u64 for 64-bit types) with the order of the numbers. Both float zeros have the same
/// key, and NaN has the largest.
Expr ascending_key(const Expr& x);
/// The number with this key, as a `t`: 0 for both zeros, and some NaN for NaN.
Expr element_of_key(const Expr& key, DType t);

}  // namespace gcg
