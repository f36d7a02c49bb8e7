#include "compiler/kernel/kernel_operations.h"

#include <algorithm>
#include <set>

#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Counts one evaluation of an expression. A shared subexpression counts once; indices of loads do not count.
class Counter {
 public:
  Dim count(const Expr& e) {
    if (e == nullptr || !seen_.insert(e.get()).second || e->kind == ExprKind::load) return Dim(0);
    Dim inside(0);
    for (const Expr& arg : e->args) inside = inside + count(arg);
    switch (e->kind) {
      case ExprKind::unary:
      case ExprKind::binary:
      case ExprKind::select:
        return inside + Dim(1);
      case ExprKind::reduce:
        return (inside + Dim(1)) * extent_of(e->reduce_axes);
      default:
        return inside;
    }
  }

 private:
  std::set<const ExprNode*> seen_;
};

Dim operations(const Expr& e) { return Counter().count(e); }

Dim operations(const LoopKernel& k) {
  Dim total(0);
  for (const Stage& stage : k.stages) {
    const Dim combine = stage.kind == Stage::Kind::reduce ? Dim(1) : Dim(0);
    total = total + extent_of(stage.axes) * (operations(stage.value) + combine);
  }
  return extent_of(k.outer) * total;
}

Dim operations(const MatMulKernel& k) {
  return extent_of(k.batch) * k.m.extent * k.n.extent * (Dim(2) * k.k.extent + operations(k.epilogue));
}

Dim operations(const ConvKernel& k) {
  const Dim per_element(2 * k.taps() * (k.in_channels / k.groups));
  const Dim elements = k.batch * Dim(k.out_channels) * k.out_depth * k.out_height * k.out_width;
  return elements * (per_element + operations(k.epilogue));
}

Dim operations(const PlainConvKernel& k) {
  Dim elements = k.batch * Dim(k.out_channels), per_element(2 * (k.in_channels / k.groups));
  for (const PlainConvKernel::Spatial& s : k.spatial) {
    elements = elements * s.output;
    per_element = per_element * Dim(s.kernel);
  }
  return elements * (per_element + operations(k.epilogue));
}

Dim operations(const AttentionKernel& k) {
  const Dim softmax = operations(k.scores) + Dim(4);  // besides the scores: maximum, difference, exponential, sum
  const Dim per_row = k.t.extent * (Dim(2) * (k.d.extent + k.n.extent) + softmax);
  return extent_of(k.batch) * k.m.extent * (per_row + k.n.extent * operations(k.epilogue));
}

/// A loop over an axis counts every point of the axis. A loop that ends on a condition counts one iteration. A branch
/// counts its longer side.
Dim operations(const Statements& block) {
  Dim total(0);
  for (const Statement& s : block) {
    const Dim trips = s.axis.id < 0 ? Dim(1) : s.axis.extent;
    const Dim combine(s.kind == Statement::Kind::reduce ? 1 : 0);
    total = total + trips * (operations(s.value) + combine + max(operations(s.body), operations(s.otherwise)));
  }
  return total;
}

Dim operations(const ProgramKernel& k) { return extent_of(k.outer) * operations(k.body); }

}  // namespace

double products_per_element(const MatMulKernel& k) { return typical(k.k.extent); }

double products_per_element(const ConvKernel& k) { return static_cast<double>(k.taps() * k.in_channels / k.groups); }

double products_per_element(const PlainConvKernel& k) {
  auto products = static_cast<double>(k.in_channels / k.groups);
  for (const PlainConvKernel::Spatial& s : k.spatial) products *= static_cast<double>(s.kernel);
  return products;
}

double products_per_element(const AttentionKernel& k) {
  return typical(k.t.extent) * (typical(k.d.extent) + typical(k.n.extent)) / std::max(1.0, typical(k.n.extent));
}

Dim kernel_operations(const Kernel& kernel) try {
  return std::visit([](const auto& body) { return operations(body); }, kernel.body);
} catch (const CompileError&) {  // the product of extents has too many terms
  return Dim(0);
}

}  // namespace gcg
