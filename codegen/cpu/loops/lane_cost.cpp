#include "codegen/cpu/loops/lane_cost.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/llvm/imports.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/support/error.h"

namespace gcg::cpu {

namespace {

// The most lanes of a gather; vectors of narrow types with more lanes are loaded and stored element by element.
constexpr double kGathered = 16;
// A symbolic extent, such as a batch, may be so small that only a quarter of the lanes is in use.
constexpr double kFewLanes = 4;

/// True for a number that is made of extents, such as the divisor of a mean. It is equal in all lanes, so it is
/// computed once and not in a vector of the extents' width.
bool is_number_of_extents(const Expr& e) {
  if (e->kind != ExprKind::cast) return false;
  bool extents_alone = true;
  visit(e, [&](const ExprNode& n) {
    const bool is_leaf = n.args.empty();
    extents_alone = extents_alone && (!is_leaf || n.kind == ExprKind::constant || n.kind == ExprKind::extent);
    extents_alone = extents_alone && n.kind != ExprKind::load && n.kind != ExprKind::reduce;
  });
  return extents_alone;
}

}  // namespace

int64_t lane_bytes(const Stage& stage) {
  int64_t bytes = 1;
  std::set<const ExprNode*> seen;
  std::function<void(const Expr&)> see = [&](const Expr& e) {
    if (!seen.insert(e.get()).second) return;
    if (e->dtype != DType::boolean || e->kind == ExprKind::load) bytes = std::max(bytes, size_of(e->dtype));
    if (e->kind == ExprKind::load || is_number_of_extents(e)) return;
    if (e->kind == ExprKind::select) {
      see(e->args[1]);
      see(e->args[2]);
      if (is_data(e->args[0])) see(e->args[0]);
      return;
    }
    for (const Expr& a : e->args) see(a);
  };
  see(stage.value);
  return bytes;
}

bool is_maskable(const CpuTarget& target, const Stage& stage, const std::vector<Operand>& operands) {
  if (target.has_avx512()) return true;
  if (target.isa == Isa::neon) return false;
  bool maskable = true;
  visit_accesses(stage, [&](int operand, const std::vector<Expr>&, bool) {
    maskable = maskable && size_of(operands[static_cast<size_t>(operand)].dtype) >= 4;
  });
  return maskable;
}

bool has_masked_load(const Expr& value, const Axis& lane) {
  bool found = false;
  visit(value, [&](const ExprNode& n) {
    found = found || (n.kind == ExprKind::select && depends_on(n.args[0], lane.id) &&
                      (has_guarded_load(n.args[1]) || has_guarded_load(n.args[2])));
  });
  return found;
}

bool has_interleaved_load(const Stage& stage, const std::vector<Operand>& operands, const Axis& lane) {
  bool found = false;
  visit_accesses(stage, [&](int operand, const std::vector<Expr>& index, bool store) {
    const auto stride = address_stride(operands[static_cast<size_t>(operand)], index, lane.id);
    found = found || (!store && stride && is_interleaving(*stride));
  });
  return found;
}

namespace {

/// True if a table holds the index (axis_tables.h). The lanes' elements are then mostly close to each other.
bool reads_own_array(const std::vector<Operand>& operands, const std::vector<Expr>& index) {
  bool found = false;
  for (const Expr& i : index)
    visit(i, [&](const ExprNode& n) {
      found = found || (n.kind == ExprKind::load && operands[static_cast<size_t>(n.operand)].array);
    });
  return found;
}

}  // namespace

double lane_cost(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis, int lanes,
                 bool interleaved_store) {
  const double apart = std::max(1.0, lanes / kGathered);
  double cost = 0.5;
  bool scatters = false;
  std::set<std::string> known;  // loads at affine positions; rewriting indices copies the loads inside them
  visit_accesses(stage, [&](int operand, const std::vector<Expr>& index, bool store) {
    if (!store && index.size() == 1 && !is_data(index[0]) && !known.insert(concat(operand, " ", key(index[0]))).second)
      return;
    const auto stride = address_stride(operands[static_cast<size_t>(operand)], index, axis.id);
    if (stride && stride->is(0))
      cost += store ? HUGE_VAL : 0.1;  // a stride of 0 means that a neighbouring axis has no points
    else if ((stride && stride->is(1)) || (store && interleaved_store))
      cost += 1;
    else if (!store && stride && is_interleaving(*stride))
      cost += static_cast<double>(stride->constant());
    else if (!store && !stride && reads_own_array(operands, index))
      cost += 5;
    else
      scatters |= store, cost += (store ? 16 : 10) * apart;
  });
  if (!axis.extent.is_constant()) return scatters ? kFewLanes * cost : cost;
  const double extent = std::max<double>(1, static_cast<double>(axis.extent.constant()));
  return cost * std::ceil(extent / lanes) * lanes / extent;
}

bool gathers(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis) {
  bool found = false;
  visit_accesses(stage, [&](int operand, const std::vector<Expr>& index, bool store) {
    found = found || (!store && !address_stride(operands[static_cast<size_t>(operand)], index, axis.id));
  });
  return found;
}

bool is_scattered(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis) {
  bool scattered = false;
  visit_accesses(stage, [&](int operand, const std::vector<Expr>& index, bool store) {
    const auto stride = address_stride(operands[static_cast<size_t>(operand)], index, axis.id);
    scattered = scattered || !stride || !(stride->is(0) || stride->is(1) || (!store && is_interleaving(*stride)));
  });
  visit(stage.value, [&](const ExprNode& n) {
    if (n.kind == ExprKind::unary) scattered = scattered || calls_per_element(n.unary, n.dtype);
    if (n.kind == ExprKind::binary) scattered = scattered || !import_of(n.binary, n.dtype).empty();
  });
  return scattered;
}

}  // namespace gcg::cpu
