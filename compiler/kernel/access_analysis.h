// What expressions are made of, and how they and addresses move along one axis: decides between scalar, contiguous and
// scattered accesses.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// Does the value depend on the axis?
bool depends_on(const Expr& e, int axis);
/// Does it read memory or an earlier result, so that an index made of it needs a range check?
bool is_data(const Expr& e);
/// May evaluating it read what only exists where every select around it takes its side?
bool has_guarded_load(const Expr& e);
bool has_reduction(const Expr& e);
/// exp, log, sin and their like: many instructions on every machine. Of a node: of floats.
bool is_elementary_function(UnaryOp op);
bool is_elementary_function(const ExprNode& n);
int count_nodes(const Expr& e);
/// Is it an index that its own operator checks (BinaryOp::checked_index)?
bool is_checked_index(const Expr& e);
/// Must an index be checked before the kernel uses it? If it is data, other than the kernel's own arrays; in a program,
/// if that is not the program's own.
bool is_checked(const Kernel& kernel, const Expr& index);

/// Is the index clamped into [0, extent), which surely has an element?
bool is_clamped_into(const Expr& index, const Dim& extent);

/// The i64 value's change when `axis` advances by one; nullopt when that is not the same everywhere.
std::optional<Dim> index_stride(const Expr& e, int axis);

/// Is every value of the Dim a multiple of n, whatever its symbols are?
bool is_multiple(const Dim& dim, int64_t n);

/// Element strides of the dimensions an access has indices for: row-major strides, or {1} for one linear index.
std::vector<Dim> access_strides(const Operand& operand, const std::vector<Expr>& index);
/// How far the element's address moves when `axis` advances by one, in elements; nullopt when not the same everywhere.
std::optional<Dim> address_stride(const Operand& operand, const std::vector<Expr>& index, int axis);

/// Calls `see` with the operand and index of every load and of the store.
void visit_accesses(const Stage& stage,
                    const std::function<void(int operand, const std::vector<Expr>& index, bool store)>& see);

}  // namespace gcg
