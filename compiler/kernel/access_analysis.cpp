#include "compiler/kernel/access_analysis.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Visits each shared node once; true when `predicate` holds for one of them.
template <class Predicate>
bool any_node(const Expr& e, const Predicate& predicate, std::unordered_set<const ExprNode*>& seen) {
  if (!seen.insert(e.get()).second) return false;
  if (predicate(*e)) return true;
  for (const Expr& a : e->args)
    if (any_node(a, predicate, seen)) return true;
  return false;
}

template <class Predicate>
bool any_node(const Expr& e, const Predicate& predicate) {
  std::unordered_set<const ExprNode*> seen;
  return any_node(e, predicate, seen);
}

}  // namespace

bool is_multiple(const Dim& dim, int64_t n) {
  return std::all_of(dim.terms().begin(), dim.terms().end(), [n](const auto& term) { return term.second % n == 0; });
}

bool depends_on(const Expr& e, int axis) {
  return any_node(e, [axis](const ExprNode& n) { return n.kind == ExprKind::axis && n.axis == axis; });
}

bool is_data(const Expr& e) {
  return any_node(e, [](const ExprNode& n) {
    return n.kind == ExprKind::load || n.kind == ExprKind::local || n.kind == ExprKind::accumulator;
  });
}

bool has_guarded_load(const Expr& e) {
  return any_node(e, [](const ExprNode& n) { return n.kind == ExprKind::load && n.guarded; });
}

bool has_reduction(const Expr& e) {
  bool found = false;
  visit(e, [&](const ExprNode& n) { found = found || n.kind == ExprKind::reduce; });
  return found;
}

bool is_elementary_function(UnaryOp op) { return op >= UnaryOp::exp && op <= UnaryOp::atanh; }

bool is_elementary_function(const ExprNode& n) {
  return n.kind == ExprKind::unary && is_float(n.dtype) && is_elementary_function(n.unary);
}

int count_nodes(const Expr& e) {
  int count = 0;
  visit(e, [&](const ExprNode&) { ++count; });
  return count;
}

bool is_checked_index(const Expr& e) { return e->kind == ExprKind::binary && e->binary == BinaryOp::checked_index; }

bool is_checked(const Kernel& kernel, const Expr& index) {
  // The index is valid in any operand that has an element 0.
  if (is_checked_index(index) && index->args[1]->kind == ExprKind::constant && index->args[1]->integer > 0)
    return false;
  const bool is_program = std::holds_alternative<ProgramKernel>(kernel.body);
  return any_node(index, [&](const ExprNode& n) {
    if (n.kind != ExprKind::load) return !is_program && (n.kind == ExprKind::local || n.kind == ExprKind::accumulator);
    const Operand& operand = kernel.operands[static_cast<size_t>(n.operand)];
    return is_program ? !operand.written : !operand.array;
  });
}

bool is_clamped_into(const Expr& index, const Dim& extent) {
  const auto is = [](const Expr& e, BinaryOp op) { return e->kind == ExprKind::binary && e->binary == op; };
  const auto number = [](const Expr& e) { return e->kind == ExprKind::extent ? e->dim : Dim(e->integer); };
  const auto known = [](const Expr& e) { return e->kind == ExprKind::constant || e->kind == ExprKind::extent; };
  if (extent.lower_bound().value_or(0) < 1 || !is(index, BinaryOp::max) || !is(index->args[0], BinaryOp::min))
    return false;
  const Expr &low = index->args[1], &high = index->args[0]->args[1];
  return known(low) && known(high) && number(low).is(0) && number(high) == extent - 1;
}

std::optional<Dim> index_stride(const Expr& e, int axis) {
  if (!depends_on(e, axis)) return Dim(0);
  if (e->kind == ExprKind::axis) return Dim(1);
  if (e->kind == ExprKind::unary && e->unary == UnaryOp::neg) {
    auto a = index_stride(e->args[0], axis);
    return a ? std::optional(Dim(0) - *a) : std::nullopt;
  }
  if (e->kind != ExprKind::binary) return std::nullopt;
  if (e->binary == BinaryOp::mul) {
    const bool left = depends_on(e->args[0], axis);
    const auto stride = index_stride(e->args[left ? 0 : 1], axis);
    const auto factor = as_affine(e->args[left ? 1 : 0]);
    if (!stride || !factor || !factor->strides.empty()) return std::nullopt;
    return *stride * factor->base;
  }
  if (e->binary != BinaryOp::add && e->binary != BinaryOp::sub) return std::nullopt;
  const auto a = index_stride(e->args[0], axis), b = index_stride(e->args[1], axis);
  if (!a || !b) return std::nullopt;
  return e->binary == BinaryOp::add ? *a + *b : *a - *b;
}

std::vector<Dim> access_strides(const Operand& operand, const std::vector<Expr>& index) {
  if (index.size() == 1) return {Dim(1)};
  GCG_CHECK(index.size() == operand.shape.size(), "an access has ", index.size(), " indices for rank ",
            operand.shape.size());
  std::vector<Dim> strides(index.size());
  Dim stride(1);
  for (size_t d = index.size(); d-- > 0;) {
    strides[d] = stride;
    stride = stride * operand.shape[d];
  }
  return strides;
}

std::optional<Dim> address_stride(const Operand& operand, const std::vector<Expr>& index, int axis) {
  const std::vector<Dim> strides = access_strides(operand, index);
  Dim total(0);
  for (size_t d = 0; d < index.size(); ++d) {
    const auto stride = index_stride(index[d], axis);
    if (!stride) return std::nullopt;
    total = total + *stride * strides[d];
  }
  return total;
}

void visit_accesses(const Stage& stage,
                    const std::function<void(int operand, const std::vector<Expr>& index, bool store)>& see) {
  const auto loads = [&](const Expr& e) {
    visit(e, [&](const ExprNode& n) {
      if (n.kind == ExprKind::load) see(n.operand, n.args, false);
    });
  };
  loads(stage.value);
  for (const Expr& i : stage.index) loads(i);
  if (stage.kind == Stage::Kind::store) see(stage.operand, stage.index, true);
}

}  // namespace gcg
