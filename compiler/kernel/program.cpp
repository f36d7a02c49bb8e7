#include "compiler/kernel/program.h"

namespace gcg {
namespace {

template <class AnyBlock, class See>
void walk(AnyBlock& block, const See& see) {
  for (auto& s : block) {
    see(s);
    walk(s.body, see);
    walk(s.otherwise, see);
  }
}

template <class AnyStatement, class See>
void walk_exprs(AnyStatement& s, const See& see) {
  for (auto* e : {&s.value, &s.begin, &s.end, &s.workspace_bytes})
    if (*e) see(*e);
  for (auto& i : s.index) see(i);
  for (auto* arguments : {&s.inputs, &s.outputs})
    for (auto& argument : *arguments)
      for (auto& e : argument.extents) see(e);
}

}  // namespace

bool is_launch(const Statement& s) {
  return s.kind == Statement::Kind::launch || s.kind == Statement::Kind::shared_launch;
}

bool has_launches(const ProgramKernel& program) { return !program.body.empty() && is_launch(program.body.front()); }

void each_statement(const Statements& block, const std::function<void(const Statement&)>& see) { walk(block, see); }
void each_statement(Statements& block, const std::function<void(Statement&)>& see) { walk(block, see); }
void each_expr(const Statement& s, const std::function<void(const Expr&)>& see) { walk_exprs(s, see); }
void each_expr(Statement& s, const std::function<void(Expr&)>& see) { walk_exprs(s, see); }

}  // namespace gcg
