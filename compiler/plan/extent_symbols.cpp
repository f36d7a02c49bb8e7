#include "compiler/plan/extent_symbols.h"

#include <algorithm>

#include "compiler/kernel/kernel_parts.h"
#include "compiler/ops/data_extent.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

bool is_bind(const Node& n) { return n.op == &op("Bind", "gart"); }

/// Collects the symbols in all parts of a kernel.
class Symbols : public PartVisitor {
 public:
  std::set<std::string> names;

  void see(const Dim& d) { names.merge(d.symbols()); }
  void see(const Axis& a) { see(a.extent); }
  void see(const Expr& e) {
    if (!e) return;
    visit(e, [&](const ExprNode& n) {
      if (n.kind == ExprKind::extent) see(n.dim);
      see(n.reduce_axes);
    });
  }
  template <class T>
  void see(const std::vector<T>& all) {
    for (const T& x : all) see(x);
  }
  void dim(const Dim& d) { see(d); }
  void axis(const Axis& a) { see(a); }
  void expr(const Expr& e) { see(e); }
  template <class Body>
  void see_body_of(const Body& k) {
    each_part(*this, k);
  }
  void see_body_of(const ProgramKernel& k) {
    see(k.outer);
    each_statement(k.body, [&](const Statement& s) {
      see(s.axis);
      each_expr(s, [&](const Expr& e) { see(e); });
    });
  }
  void see(const Value& v) {
    if (v.shape) see(*v.shape);
    if (v.contents) see(*v.contents);
  }
  void see_body(const Graph& body) {
    for (int64_t i = 0; i < body.value_count(); ++i) see(body.value(ValueId(i)));
    for (NodeId id : body.order())
      for (const auto& inner : body.node(id).bodies) see_body(*inner);
  }
};

}  // namespace

std::vector<std::string> run_bound_symbols(const Graph& graph) {
  std::vector<std::string> names;
  const auto add = [&](const std::vector<std::string>& more) {
    for (const std::string& s : more)
      if (std::find(names.begin(), names.end(), s) == names.end()) names.push_back(s);
  };
  for (NodeId id : graph.order()) {
    if (is_bind(graph.node(id))) add(bound_symbols(graph.node(id)));
    for (const auto& body : graph.node(id).bodies) add(run_bound_symbols(*body));
  }
  return names;
}

std::set<std::string> symbols_of(const Kernel& kernel) {
  Symbols symbols;
  for (const Operand& o : kernel.operands) symbols.see(o.shape);
  std::visit([&](const auto& body) { symbols.see_body_of(body); }, kernel.body);
  return std::move(symbols.names);
}

std::set<std::string> symbols_of(const Graph& graph, const Node& node) {
  Symbols symbols;
  for (ValueId in : node.inputs)
    if (in.valid()) symbols.see(graph.value(in));
  for (ValueId out : node.outputs)
    if (out.valid()) symbols.see(graph.value(out));
  for (const auto& body : node.bodies) symbols.see_body(*body);
  return std::move(symbols.names);
}

}  // namespace gcg
