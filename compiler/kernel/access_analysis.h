// Analyses expressions: their contents, and how values and addresses move along one axis. Decides between scalar,
// contiguous and scattered accesses.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// True if the value depends on the axis.
bool depends_on(const Expr& e, int axis);
/// True if the expression reads memory or an earlier result. An index computed from such a value needs a range check.
bool is_data(const Expr& e);
/// True if the expression contains a guarded load (ExprNode::guarded).
bool has_guarded_load(const Expr& e);
bool has_reduction(const Expr& e);
/// exp, log, sin and similar functions: many instructions on every machine. A node counts only if it computes floats.
bool is_elementary_function(UnaryOp op);
bool is_elementary_function(const ExprNode& n);
int count_nodes(const Expr& e);
/// True if the expression is an index with its own check (BinaryOp::checked_index).
bool is_checked_index(const Expr& e);
/// True if the index must be checked before the kernel uses it, because it depends on data. Reads of the kernel's own
/// arrays are exempt; in a program, all data except elements of read-only operands is exempt.
bool is_checked(const Kernel& kernel, const Expr& index);

/// True if the index is clamped into [0, extent) and the extent is known to be above 0.
bool is_clamped_into(const Expr& index, const Dim& extent);

/// Change of the i64 value when `axis` advances by one; nullopt if the change is not constant.
std::optional<Dim> index_stride(const Expr& e, int axis);

/// True if the Dim is a multiple of n for all values of its symbols.
bool is_multiple(const Dim& dim, int64_t n);

/// Element strides of the dimensions an access has indices for: row-major strides, or {1} for one linear index.
std::vector<Dim> access_strides(const Operand& operand, const std::vector<Expr>& index);
/// Change of the element's address when `axis` advances by one, in elements; nullopt if the change is not constant.
std::optional<Dim> address_stride(const Operand& operand, const std::vector<Expr>& index, int axis);

/// Calls `see` with the operand and index of every load and of the store.
void visit_accesses(const Stage& stage,
                    const std::function<void(int operand, const std::vector<Expr>& index, bool store)>& see);

}  // namespace gcg
