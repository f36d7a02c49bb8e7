#include "compiler/kernel/kernel.h"

#include <algorithm>

#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Checks one expression of a kernel: operands exist with that rank and dtype, axes are bound, locals are defined.
void check_expr(const Kernel& kernel, const Expr& e, std::set<int> bound, int locals) {
  GCG_CHECK(e != nullptr, "kernel '", kernel.name, "' has an empty expression");
  for (int a : free_axes(e)) GCG_CHECK(bound.count(a), "kernel '", kernel.name, "': axis ", a, " is not bound");
  visit(e, [&](const ExprNode& n) {
    if (n.kind == ExprKind::load) {
      GCG_CHECK(n.operand >= 0 && n.operand < static_cast<int>(kernel.operands.size()), "kernel '", kernel.name,
                "': load of operand ", n.operand, " of ", kernel.operands.size());
      const Operand& o = kernel.operands[static_cast<size_t>(n.operand)];
      GCG_CHECK((o.shape.size() == n.args.size() || n.args.size() == 1) && o.dtype == n.dtype, "kernel '", kernel.name,
                "': operand ", n.operand, " is ", name_of(o.dtype), str(o.shape), ", loaded as ", name_of(n.dtype),
                " with ", n.args.size(), " indices");
      for (const Expr& i : n.args) GCG_CHECK(i->dtype == DType::i64, "kernel '", kernel.name, "': index is not i64");
    }
    if (n.kind == ExprKind::local)
      GCG_CHECK(n.local >= 0 && n.local < locals, "kernel '", kernel.name, "': local ", n.local, " is not defined yet");
  });
}

void check_store(const Kernel& kernel, int operand, const std::vector<Expr>& index, const std::set<int>& bound) {
  GCG_CHECK(operand >= 0 && operand < static_cast<int>(kernel.operands.size()), "kernel '", kernel.name,
            "': result operand");
  const Operand& o = kernel.operands[static_cast<size_t>(operand)];
  GCG_CHECK(o.written && o.shape.size() == index.size(), "kernel '", kernel.name, "': store to operand ", operand);
  for (const Expr& i : index) check_expr(kernel, i, bound, 0);
}

void check(const Kernel& kernel, const LoopKernel& k) {
  std::set<int> outer;
  for (const Axis& a : k.outer) outer.insert(a.id);
  int locals = 0;
  for (const Stage& s : k.stages) {
    std::set<int> bound = outer;
    for (const Axis& a : s.axes) bound.insert(a.id);
    check_expr(kernel, s.value, bound, locals);
    if (s.kind == Stage::Kind::reduce) {
      GCG_CHECK(s.local == locals, "kernel '", kernel.name, "': locals are numbered in order");
      ++locals;
    } else {
      check_store(kernel, s.operand, s.index, bound);
      GCG_CHECK(s.value->dtype == kernel.operands[static_cast<size_t>(s.operand)].dtype, "kernel '", kernel.name,
                "': stored dtype");
    }
  }
}

void check(const Kernel& kernel, const MatMulKernel& k) {
  std::set<int> bound = {k.m.id, k.n.id};
  for (const Axis& a : k.batch) bound.insert(a.id);
  check_expr(kernel, k.epilogue, bound, 0);
  check_store(kernel, k.result, k.index, bound);
  GCG_CHECK(k.a.batch_strides.size() == k.batch.size(), "kernel '", kernel.name, "': batch strides of A");
  GCG_CHECK(k.packed_columns > 0 || k.b.batch_strides.size() == k.batch.size(), "kernel '", kernel.name,
            "': batch strides of B");
}

void check(const Kernel& kernel, const ConvKernel& k) {
  std::set<int> bound;
  for (const Axis& a : k.axes()) bound.insert(a.id);
  check_expr(kernel, k.epilogue, bound, 0);
  check_store(kernel, k.result, k.index, bound);
  GCG_CHECK(k.groups > 0 && k.in_channels % k.groups == 0 && k.out_channels % k.groups == 0, "kernel '", kernel.name,
            "': ", k.in_channels, " to ", k.out_channels, " channels in ", k.groups, " groups");
}

void check(const Kernel& kernel, const PlainConvKernel& k) {
  std::set<int> bound = {k.n.id, k.channel.id};
  for (const Axis& a : k.position) bound.insert(a.id);
  check_expr(kernel, k.epilogue, bound, 0);
  check_store(kernel, k.result, k.index, bound);
  GCG_CHECK(!k.spatial.empty() && k.spatial.size() <= 3, "kernel '", kernel.name, "': ", k.spatial.size(),
            " spatial dimensions");
  Dim outputs(1), points(1);
  for (const PlainConvKernel::Spatial& s : k.spatial) outputs = outputs * s.output;
  for (const Axis& a : k.position) points = points * a.extent;
  GCG_CHECK(outputs == points, "kernel '", kernel.name, "': ", outputs.str(), " output positions, axes for ",
            points.str());
}

void check(const Kernel& kernel, const AttentionKernel& k) {
  std::set<int> row = {k.m.id};
  for (const Axis& a : k.batch) row.insert(a.id);
  std::set<int> score = row, bound = row;
  score.insert(k.t.id);
  bound.insert(k.n.id);
  check_expr(kernel, k.scores, score, 0);
  if (k.row_mask) check_expr(kernel, k.row_mask, row, 0);
  check_expr(kernel, k.epilogue, bound, 0);
  check_store(kernel, k.result, k.index, bound);
  for (const MatrixView* view : {&k.q, &k.k, &k.v})
    GCG_CHECK(view->batch_strides.size() == k.batch.size(), "kernel '", kernel.name, "': batch strides");
}

class ProgramCheck {
 public:
  ProgramCheck(const Kernel& kernel, const ProgramKernel& program) : kernel_(kernel), program_(program) {}

  void run() {
    std::set<int> bound;
    for (const Axis& a : program_.outer) bound.insert(a.id);
    block(program_.body, bound);
  }

 private:
  void expr(const Expr& e, const std::set<int>& bound, DType dtype) const {
    check_expr(kernel_, e, bound, static_cast<int>(program_.locals.size()));
    GCG_CHECK(e->dtype == dtype, "kernel '", kernel_.name, "': ", name_of(e->dtype), " instead of ", name_of(dtype));
    visit(e, [&](const ExprNode& n) {
      if (n.kind == ExprKind::local)
        GCG_CHECK(n.dtype == program_.locals[static_cast<size_t>(n.local)], "kernel '", kernel_.name,
                  "': type of a variable");
    });
  }
  DType variable(const Statement& s) const {
    GCG_CHECK(s.local >= 0 && s.local < static_cast<int>(program_.locals.size()), "kernel '", kernel_.name,
              "': variable ", s.local);
    return program_.locals[static_cast<size_t>(s.local)];
  }
  void store(const Statement& s, const std::set<int>& bound) const {
    GCG_CHECK(s.operand >= 0 && s.operand < static_cast<int>(kernel_.operands.size()), "kernel '", kernel_.name,
              "': store");
    const Operand& o = kernel_.operands[static_cast<size_t>(s.operand)];
    GCG_CHECK(o.written && (s.index.size() == 1 || s.index.size() == o.shape.size()), "kernel '", kernel_.name,
              "': store to ", s.operand);
    for (const Expr& i : s.index) expr(i, bound, DType::i64);
    expr(s.value, bound, o.dtype);
  }
  void call(const Statement& s, const std::set<int>& bound) const {
    each_expr(s, [&](const Expr& e) { expr(e, bound, DType::i64); });
    for (const CallArgument& a : s.outputs)
      GCG_CHECK(a.operand < 0 || kernel_.operands[static_cast<size_t>(a.operand)].written, "kernel '", kernel_.name,
                "': result of a call");
  }
  void block(const Statements& statements, const std::set<int>& bound) const {
    for (const Statement& s : statements) statement(s, bound);
  }
  void statement(const Statement& s, const std::set<int>& bound) const {
    std::set<int> inner = bound;
    if (s.begin) {
      for (const Expr& e : {s.begin, s.end}) expr(e, bound, DType::i64);
      inner.insert(s.axis.id);
    }
    if (is_launch(s)) inner.insert(s.axis.id);
    switch (s.kind) {
      case Statement::Kind::assign:
        return expr(s.value, bound, variable(s));
      case Statement::Kind::reduce:
        return expr(s.value, inner, variable(s));
      case Statement::Kind::store:
      case Statement::Kind::merge:
        return store(s, inner);
      case Statement::Kind::launch:
      case Statement::Kind::shared_launch:
        GCG_CHECK(program_.outer.empty(), "kernel '", kernel_.name, "': tasks beside launches");
        return block(s.body, inner);
      case Statement::Kind::scan:
        expr(s.value, inner, variable(s));
        return block(s.body, inner);
      case Statement::Kind::order:
        expr(s.value, inner, s.value->dtype);
        return expr(s.index[0], bound, DType::i64);
      case Statement::Kind::require:
        return expr(s.value, bound, DType::boolean);
      case Statement::Kind::call:
        return call(s, bound);
      case Statement::Kind::loop:
        return block(s.body, inner);
      case Statement::Kind::loop_while:
      case Statement::Kind::branch:
        expr(s.value, bound, DType::boolean);
        block(s.body, bound);
        return block(s.otherwise, bound);
    }
  }

  const Kernel& kernel_;
  const ProgramKernel& program_;
};

void check(const Kernel& kernel, const ProgramKernel& k) { ProgramCheck(kernel, k).run(); }

}  // namespace

size_t step_operands(const Kernel& kernel) {
  return static_cast<size_t>(
      std::count_if(kernel.operands.begin(), kernel.operands.end(), [](const Operand& o) { return !o.array; }));
}

Dim array_offset(const Kernel& kernel, size_t operand) {
  constexpr int64_t kAlignment = 64;
  Dim offset(0);
  for (size_t i = 0; i < operand; ++i) {
    const Operand& o = kernel.operands[i];
    if (o.array)
      offset = offset + ceil_div(product(o.shape) * Dim(size_of(o.dtype)), Dim(kAlignment)) * Dim(kAlignment);
  }
  return offset;
}

void verify_kernel(const Kernel& kernel) {
  std::visit([&](const auto& body) { check(kernel, body); }, kernel.body);
}

}  // namespace gcg
