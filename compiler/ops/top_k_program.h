// Selecting and sorting in programs.
#pragma once

#include <functional>

#include "compiler/ops/program_builder.h"

namespace gcg {

/// Element i (i64) of a line, as a number of f32, f64 or an integer type.
using LineElement = std::function<Expr(const Expr& i)>;

/// Adds statements that find the best k of n elements, k <= n, the largest or the smallest, in order; of equal ones the
/// first is best, and NaN counts as the largest number. For each of them, from rank 0 on, they do what `store` adds for
/// its rank and its place in the line. Time: n + k log k for few of many, n for all.
void select_best(ProgramBuilder& p, const Dim& n, const Dim& k, const LineElement& element, bool largest,
                 const std::function<void(const Expr& rank, const Expr& place)>& store);
/// The same, with the element in place of its place, in half of the memory. Both zeros may come out as 0, and NaN as
/// another NaN.
void select_best_values(ProgramBuilder& p, const Dim& n, const Dim& k, const LineElement& element, bool largest,
                        const std::function<void(const Expr& rank, const Expr& value)>& store);

/// An unsigned integer (u32, or u64 of 64-bit types) for a number, in the order of the numbers; of floats both zeros
/// have one, and NaN has the largest.
Expr ascending_key(const Expr& x);
/// The number whose key this is, as a `t`, with 0 for both zeros, and NaN.
Expr element_of_key(const Expr& key, DType t);

}  // namespace gcg
