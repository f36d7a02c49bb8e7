// Accesses of several consecutive elements at once.
#pragma once

#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

#include "compiler/kernel/access_analysis.h"

namespace gcg::cuda {

/// Does the access move through consecutive elements along `lane` and begin at a multiple of `count` elements wherever
/// lane is one? Operands are aligned to 64 bytes at element 0.
bool is_aligned(const Operand& operand, const std::vector<Expr>& index, int lane, int64_t count);

/// What `value` reads that may be read `count` elements at a time along `lane`, outside reductions and not below a node
/// of `skip`: aligned loads; and selects among such loads and constants that choose for all of the elements alike.
std::vector<Expr> vector_reads(const Expr& value, const std::vector<Operand>& operands, int lane, int64_t count,
                               const std::unordered_set<const ExprNode*>& skip = {});
/// The loads among them.
std::vector<Expr> vector_loads(const Expr& value, const std::vector<Operand>& operands, int lane, int64_t count);

/// The largest count at which the stage's store (if it is one) and loads are made by at most 16 bytes; 1 if none.
int vector_count(const Stage& stage, const std::vector<Operand>& operands, int lane);

/// Calls `see` for every reduction inside a value, inner ones of another left out.
void each_window(const Expr& value, const std::function<void(const Expr&)>& see);
/// What a reduction inside a stage's value reads `count` elements at a time, so that as many results are summed side by
/// side; nullopt where it reads along `lane` in another way, or does not depend on it.
std::optional<std::vector<Expr>> window_reads(const ExprNode& reduction, const std::vector<Operand>& operands, int lane,
                                              int64_t count);
/// The largest count at which a store and all reductions in its value are made by at most 16 bytes; 1 if none.
int window_count(const Stage& stage, const std::vector<Operand>& operands, int lane);

}  // namespace gcg::cuda
