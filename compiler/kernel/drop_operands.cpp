#include "compiler/kernel/drop_operands.h"

#include <functional>

#include "compiler/kernel/kernel_parts.h"

namespace gcg {
namespace {

using OnExpr = std::function<void(Expr&)>;
using OnOperand = std::function<void(int&)>;

struct ExprsOfParts : PartVisitor {
  explicit ExprsOfParts(const OnExpr& see) : see_(see) {}
  void expr(Expr& e) const {
    if (e) see_(e);
  }

 private:
  const OnExpr& see_;
};

/// The operands that a kernel names outside of its expressions.
struct OperandsOfParts : PartVisitor {
  explicit OperandsOfParts(const OnOperand& see) : see_(see) {}
  void operand(int& o) const {
    if (o >= 0) see_(o);
  }

 private:
  const OnOperand& see_;
};

template <class Body>
void each_expr(Body& k, const OnExpr& f) {
  ExprsOfParts see(f);
  each_part(see, k);
}

void each_expr(ProgramKernel& k, const OnExpr& f) {
  each_statement(k.body, [&](Statement& s) { each_expr(s, f); });
}

template <class Body>
void each_operand(Body& k, const OnOperand& f) {
  OperandsOfParts see(f);
  each_part(see, k);
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
  std::vector<size_t> remaining;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    number[i] = static_cast<int>(remaining.size());
    operands.push_back(kernel.operands[i]);
    operands.back().flat_of = -1;
    remaining.push_back(i);
  }
  renumber_operands(kernel, [&](int o) { return number[static_cast<size_t>(o)]; });
  kernel.operands = std::move(operands);
  return remaining;
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
