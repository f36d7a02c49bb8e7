#include "codegen/cpu/llvm/imports.h"

#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/kernel_parts.h"
#include "compiler/kernel/operator_names.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

/// The C library's name of the function for doubles.
std::string double_name(UnaryOp op) {
  if (!is_elementary_function(op)) return "";
  return name_of(op);
}

/// True if code is emitted for all arguments.
bool has_own_polynomial(UnaryOp op, DType dtype) {
  const bool in_both = op == UnaryOp::exp || op == UnaryOp::log || op == UnaryOp::tanh || op == UnaryOp::sigmoid;
  const bool in_f32 = op == UnaryOp::erf || op == UnaryOp::asin || op == UnaryOp::acos || op == UnaryOp::atan;
  return in_both || (in_f32 && dtype != DType::f64);
}

struct Collector : PartVisitor {
  std::set<std::string> names;

  void add(const std::string& name) {
    if (!name.empty()) names.insert(name);
  }
  void add(const Expr& e) {
    if (e == nullptr) return;
    visit(e, [&](const ExprNode& node) {
      if (node.kind == ExprKind::unary) add(import_of(node.unary, node.dtype));
      if (node.kind == ExprKind::binary) add(import_of(node.binary, node.dtype));
    });
  }
  void expr(const Expr& e) { add(e); }
  void operator()(const ProgramKernel& program) {
    each_statement(program.body, [&](const Statement& s) {
      each_expr(s, [&](const Expr& e) { add(e); });
      add(s.function);
    });
  }
  template <class Body>
  void operator()(const Body& body) {
    each_part(*this, body);
  }
};

}  // namespace

std::string import_of(UnaryOp op, DType dtype) {
  if (!is_float(dtype)) return "";
  const std::string name = double_name(op);
  if (name.empty() || has_own_polynomial(op, dtype)) return "";
  return dtype == DType::f64 ? name : name + "f";
}

std::string import_of(BinaryOp op, DType dtype) {
  if (!is_float(dtype)) return "";
  const std::string suffix = dtype == DType::f64 ? "" : "f";
  if (op == BinaryOp::pow) return dtype == DType::f64 ? "pow" : "";
  // Both operators start from the remainder as C defines it; `mod` then adjusts its sign to that of the divisor.
  if (op == BinaryOp::fmod || op == BinaryOp::mod) return "fmod" + suffix;
  return "";
}

bool calls_per_element(UnaryOp op, DType dtype) {
  // These operators call the C function only for very large angles.
  const bool seldom = op == UnaryOp::sin || op == UnaryOp::cos || op == UnaryOp::tan;
  return !import_of(op, dtype).empty() && !seldom;
}

std::set<std::string> needed_imports(const Kernel& kernel) {
  Collector collector;
  std::visit(collector, kernel.body);
  return collector.names;
}

}  // namespace gcg::cpu
