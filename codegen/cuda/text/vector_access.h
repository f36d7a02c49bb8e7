// Accesses of several consecutive elements at once.
#pragma once

#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

#include "compiler/kernel/access_analysis.h"

namespace gcg::cuda {

/// True if the access moves through consecutive elements along `lane`, and begins at a multiple of `count` elements
/// wherever `lane` does. Operands are aligned to 64 bytes at element 0.
bool is_aligned(const Operand& operand, const std::vector<Expr>& index, int lane, int64_t count);

/// The parts of `value` that can be read `count` elements at a time along `lane`: aligned loads, and selects among such
/// loads and constants whose condition is the same for all of the elements. Leaves out reductions and nodes below a
/// node of `skip`.
std::vector<Expr> vector_reads(const Expr& value, const std::vector<Operand>& operands, int lane, int64_t count,
                               const std::unordered_set<const ExprNode*>& skip = {});
/// The loads among vector_reads().
std::vector<Expr> vector_loads(const Expr& value, const std::vector<Operand>& operands, int lane, int64_t count);

/// The largest count with which each load of the stage, and its store if it has one, accesses at most 16 bytes; 1 if
/// there is none.
int vector_count(const Stage& stage, const std::vector<Operand>& operands, int lane);

/// Calls `see` for every outermost reduction inside a value.
void each_window(const Expr& value, const std::function<void(const Expr&)>& see);
/// The reads of a reduction inside a stage's value that take `count` elements at a time, so that this many results are
/// summed side by side. nullopt if the reduction reads along `lane` in another way, or does not depend on it.
std::optional<std::vector<Expr>> window_reads(const ExprNode& reduction, const std::vector<Operand>& operands, int lane,
                                              int64_t count);
/// The largest count with which a store and all reductions in its value access at most 16 bytes each; 1 if there is
/// none.
int window_count(const Stage& stage, const std::vector<Operand>& operands, int lane);

}  // namespace gcg::cuda
