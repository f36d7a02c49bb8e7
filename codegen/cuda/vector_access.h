// Accesses of several consecutive elements at once.
#pragma once

#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cuda {

/// Is every value of the Dim a multiple of n, whatever its symbols are?
bool is_multiple(const Dim& dim, int64_t n);

/// Does the access move through consecutive elements along `lane` and begin at a multiple of `count` elements wherever
/// lane is one? Operands are aligned to 64 bytes at element 0.
bool is_aligned(const Operand& operand, const std::vector<Expr>& index, int lane, int64_t count);

/// A load of consecutive elements, to be done where all `conditions` have the value beside them: these are the same for
/// all of the elements.
struct VectorLoad {
  Expr load;
  std::vector<std::pair<Expr, bool>> conditions;
};

/// The loads of `value` that may be done `count` elements at a time along `lane`: aligned, outside reductions, and not
/// below a node of `skip`. Guarded ones only where the selects around them do not choose per element.
std::vector<VectorLoad> all_vector_loads(const Expr& value, const std::vector<Operand>& operands, int lane,
                                         int64_t count, const std::unordered_set<const ExprNode*>& skip = {});
/// Those without conditions.
std::vector<Expr> vector_loads(const Expr& value, const std::vector<Operand>& operands, int lane, int64_t count,
                               const std::unordered_set<const ExprNode*>& skip = {});

/// The largest count at which the stage's store (if it is one) and loads are made by at most 16 bytes; 1 if none.
int vector_count(const Stage& stage, const std::vector<Operand>& operands, int lane);

}  // namespace gcg::cuda
