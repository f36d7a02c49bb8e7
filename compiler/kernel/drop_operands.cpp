#include "compiler/kernel/drop_operands.h"

#include <functional>

namespace gcg {
namespace {

using OnExpr = std::function<void(Expr&)>;
using OnOperand = std::function<void(int&)>;

// ---- every expression of a kernel

void each_expr(LoopKernel& k, const OnExpr& f) {
  for (Stage& s : k.stages) {
    if (s.value) f(s.value);
    for (Expr& i : s.index) f(i);
  }
}

void each_expr(AttentionKernel& k, const OnExpr& f) {
  f(k.scores);
  if (k.kept) f(k.kept);
  if (k.epilogue) f(k.epilogue);
  for (Expr& i : k.index) f(i);
}

void each_expr(ProgramKernel& k, const OnExpr& f) {
  each_statement(k.body, [&](Statement& s) { each_expr(s, f); });
}

template <class Contraction>
void each_expr(Contraction& k, const OnExpr& f) {
  if (k.epilogue) f(k.epilogue);
  for (Expr& i : k.index) f(i);
}

// ---- every operand that a kernel names outside of its expressions

void each_operand(LoopKernel& k, const OnOperand& f) {
  for (Stage& s : k.stages)
    if (s.kind == Stage::Kind::store) f(s.operand);
}

void each_operand(MatMulKernel& k, const OnOperand& f) {
  f(k.a.operand);
  f(k.b.operand);
  for (int* o : {&k.scales, &k.offsets})
    if (*o >= 0) f(*o);
  f(k.result);
}

void each_operand(AttentionKernel& k, const OnOperand& f) {
  for (MatrixView* view : {&k.q, &k.k, &k.v}) f(view->operand);
  f(k.result);
}

void each_operand(ProgramKernel& k, const OnOperand& f) {
  each_statement(k.body, [&](Statement& s) {
    if (s.operand >= 0) f(s.operand);
    if (s.unless_same >= 0) f(s.unless_same);
    for (auto* arguments : {&s.inputs, &s.outputs})
      for (CallArgument& argument : *arguments)
        if (argument.operand >= 0) f(argument.operand);
    if (s.workspace >= 0) f(s.workspace);
  });
  if (k.replaced >= 0) f(k.replaced);
}

template <class Conv>
void each_operand(Conv& k, const OnOperand& f) {
  f(k.input);
  f(k.weights);
  f(k.result);
}

Expr renumber(const Expr& root, const std::function<int(int)>& number) {
  return rewrite(root, [&](const Expr& e) -> Expr {
    if (e->kind != ExprKind::load || number(e->operand) == e->operand) return nullptr;
    auto n = std::make_shared<ExprNode>(*e);
    n->operand = number(e->operand);
    for (Expr& a : n->args) a = renumber(a, number);
    return n;
  });
}

std::vector<bool> used_operands(Kernel& kernel) {
  std::vector<bool> used(kernel.operands.size(), false);
  const auto see = [&](const ExprNode& n) {
    if (n.kind == ExprKind::load) used[static_cast<size_t>(n.operand)] = true;
  };
  std::visit(
      [&](auto& body) {
        each_expr(body, [&](Expr& e) { visit(e, see); });
        each_operand(body, [&](int& o) { used[static_cast<size_t>(o)] = true; });
      },
      kernel.body);
  return used;
}

}  // namespace

std::vector<size_t> drop_unused_operands(Kernel& kernel) {
  const std::vector<bool> used = used_operands(kernel);
  std::vector<int> number(used.size(), -1);
  std::vector<Operand> operands;
  std::vector<size_t> kept;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    number[i] = static_cast<int>(kept.size());
    operands.push_back(kernel.operands[i]);
    operands.back().flat_of = -1;
    kept.push_back(i);
  }
  renumber_operands(kernel, [&](int o) { return number[static_cast<size_t>(o)]; });
  kernel.operands = std::move(operands);
  return kept;
}

void renumber_operands(Kernel& kernel, const std::function<int(int)>& number) {
  std::visit(
      [&](auto& body) {
        each_operand(body, [&](int& o) { o = number(o); });
        each_expr(body, [&](Expr& e) { e = renumber(e, number); });
      },
      kernel.body);
}

}  // namespace gcg
