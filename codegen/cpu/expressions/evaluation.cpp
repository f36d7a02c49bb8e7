#include "codegen/cpu/expressions/evaluation.h"

#include <algorithm>

#include "codegen/cpu/expressions/arithmetic.h"
#include "codegen/cpu/expressions/partial_sums.h"
#include "codegen/cpu/expressions/rounded_quotient.h"
#include "codegen/cpu/expressions/vector_math.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/support/error.h"

namespace gcg::cpu {

using llvm::Value;

bool Evaluation::varies(const Expr& e) {
  if (point_.lanes == 1) return false;
  if (auto it = varies_.find(e.get()); it != varies_.end()) return it->second;
  bool result = false;
  if (e->kind == ExprKind::axis) result = e->axis == point_.lane_axis;
  if (e->kind == ExprKind::accumulator) result = FunctionBuilder::is_vector(point_.accumulator);
  if (e->kind == ExprKind::local) result = FunctionBuilder::is_vector(point_.locals.at(e->local));
  for (const Expr& a : e->args) result = result || varies(a);
  varies_[e.get()] = result;
  return result;
}

Value* Evaluation::both(Value* a, Value* b) {
  if (a == nullptr || a == b) return b;
  if (b == nullptr) return a;
  if (FunctionBuilder::is_vector(a) != FunctionBuilder::is_vector(b)) {
    a = lanes(a);
    b = lanes(b);
  }
  return ir_.CreateAnd(a, b);
}

Value* Evaluation::axis(int id) {
  auto it = axes_.find(id);
  GCG_CHECK(it != axes_.end(), "axis ", id, " has no value here");
  return it->second;
}

Value* Evaluation::value(const Expr& e) {
  for (Scope* s = scope_; s != nullptr; s = s->outer)
    if (auto it = s->values.find(e.get()); it != s->values.end()) return it->second;
  Value* v = compute(e);
  if (varies(e)) v = lanes(v);
  scope_->values[e.get()] = v;
  return v;
}

Value* Evaluation::compute(const Expr& e) {
  switch (e->kind) {
    case ExprKind::constant:
      return emit_constant(f_, *e);
    case ExprKind::axis: {
      Value* base = axis(e->axis);
      return varies(e) ? ir_.CreateAdd(lanes(base), f_.iota(point_.lanes)) : base;
    }
    case ExprKind::extent:
      return f_.dim(e->dim);
    case ExprKind::load:
      return load(*e);
    case ExprKind::local:
      return point_.locals.at(e->local);
    case ExprKind::accumulator:
      GCG_CHECK(point_.accumulator != nullptr, "an accumulator outside an epilogue");
      return point_.accumulator;
    case ExprKind::unary:
      if (const auto divisor = divisor_before_rounding(e))
        return emit_rounded_quotient(f_, value(e->args[0]->args[0]), *divisor);
      return emit_unary(f_, e->unary, e->args[0]->dtype, value(e->args[0]));
    case ExprKind::binary:
      return binary(e);
    case ExprKind::select:
      return select(e);
    case ExprKind::cast:
      if (const auto quantization = quantization_of(e)) {
        if (const auto sum = byte_sum_of(quantization->x, point_.lane_axis))
          return emit_quantized(f_, byte_sum(*sum), *quantization, sum->most);
        return emit_quantized(f_, value(quantization->x), *quantization);
      }
      if (const auto late = late_quantization_of(e)) {
        Value *x = value(late->x), *divisor = value(late->divisor), *zero = value(late->zero);
        const bool is_one = !FunctionBuilder::is_vector(divisor) && !FunctionBuilder::is_vector(zero);
        if (is_one && FunctionBuilder::is_vector(x)) return emit_quantized(f_, x, divisor, zero, late->dtype);
      }
      return emit_cast(f_, e->args[0]->dtype, e->dtype, value(e->args[0]));
    case ExprKind::reduce:
      return reduce(*e);
  }
  return nullptr;
}

Value* Evaluation::binary(const Expr& e) {
  Value* a = value(e->args[0]);
  Value* b = value(e->args[1]);
  if (e->binary == BinaryOp::checked_index) return checked_index(a, b);
  return emit_binary(f_, e->binary, e->args[0]->dtype, a, b);
}

Value* Evaluation::base_value(const Expr& e) {
  if (!varies(e)) return value(e);
  if (e->kind == ExprKind::axis) return axis(e->axis);
  for (Scope* s = scope_; s != nullptr; s = s->outer)
    if (auto it = s->bases.find(e.get()); it != s->bases.end()) return it->second;
  Value* v = nullptr;
  if (e->kind == ExprKind::unary) {
    v = emit_unary(f_, e->unary, e->dtype, base_value(e->args[0]));
  } else {
    GCG_CHECK(e->kind == ExprKind::binary, "index arithmetic is affine in the lane axis");
    Value* a = base_value(e->args[0]);
    v = emit_binary(f_, e->binary, e->dtype, a, base_value(e->args[1]));
  }
  scope_->bases[e.get()] = v;
  return v;
}

Value* Evaluation::side(const Expr& e, Value* mask) {
  ScopeGuard scope(*this, mask);
  return value(e);
}

/// Adds the terms that are equal in all lanes first, as one scalar.
Value* Evaluation::byte_sum(const ByteSum& sum) {
  const auto all = [&](Value* v) { return f_.splat(v, point_.lanes); };
  Value* total = f_.f32(sum.constant);
  for (const bool in_lanes : {false, true})
    for (const Expr& e : sum.float_terms) {
      if (depends_on(e, point_.lane_axis) != in_lanes) continue;
      Value* addend = value(e);
      total = ir_.CreateFAdd(FunctionBuilder::is_vector(addend) ? all(total) : total, addend);
    }
  for (const ByteSum::Term& t : sum.terms) {
    Value* byte = all(emit_cast(f_, t.byte->dtype, DType::f32, value(t.byte)));
    total = emit_fma(f_, byte, f_.constant_like(byte, t.factor), all(total));
  }
  return total;
}

Value* Evaluation::select(const Expr& e) {
  Value* condition = value(e->args[0]);
  const bool guarded = has_guarded_load(e->args[1]) || has_guarded_load(e->args[2]);
  if (guarded && !FunctionBuilder::is_vector(condition)) return branch(e, condition);
  Value *then = nullptr, *otherwise = nullptr;
  if (guarded) {
    then = side(e->args[1], both(scope_->mask, condition));
    otherwise = side(e->args[2], both(scope_->mask, ir_.CreateNot(condition)));
  } else {
    then = value(e->args[1]);
    otherwise = value(e->args[2]);
  }
  if (varies(e)) {
    then = lanes(then);
    otherwise = lanes(otherwise);
  }
  return ir_.CreateSelect(condition, then, otherwise);
}

Value* Evaluation::branch(const Expr& e, Value* condition) {
  auto evaluate = [&](const Expr& taken) -> FunctionBuilder::Values {
    Value* v = side(taken, scope_->mask);
    return {varies(e) ? lanes(v) : v};
  };
  return f_.if_else(condition, [&] { return evaluate(e->args[1]); }, [&] { return evaluate(e->args[2]); })[0];
}

Value* Evaluation::body_value(const ExprNode& reduce, bool vector) {
  Value* v = value(reduce.args[0]);
  return vector ? lanes(v) : v;
}

/// Computes an inner reduction once if it is the same for all points of the outer reduction. Skips inner reductions
/// behind a guard, because a guarded load may be invalid at other points.
void Evaluation::hoist_reductions(const Expr& body, const std::vector<Axis>& axes, std::set<const ExprNode*>& seen) {
  if (!seen.insert(body.get()).second) return;
  if (body->kind == ExprKind::reduce) {
    const std::set<int> free = free_axes(body);
    const bool same = std::none_of(axes.begin(), axes.end(), [&](const Axis& a) { return free.contains(a.id); });
    if (same) value(body);
    return;
  }
  if (body->kind == ExprKind::select && has_guarded_load(body)) return;
  for (const Expr& a : body->args) hoist_reductions(a, axes, seen);
}

Value* Evaluation::reduce(const ExprNode& e) {
  if (Value* in_row = reduce_in_row(e)) return in_row;
  std::set<const ExprNode*> seen;
  hoist_reductions(e.args[0], e.reduce_axes, seen);
  const bool vector = varies(e.args[0]);
  if (depends_on_order(e.reduce, e.dtype))
    return reduce_in_order(
        f_, e.reduce, e.args[0], vector ? point_.lanes : 1, e.reduce_axes,
        [&](const Axis& axis, Value* i) { axes_[axis.id] = i; },
        [&] {
          ScopeGuard scope(*this, scope_->mask);
          return body_value(e, vector);
        });
  Value* identity = emit_constant(f_, *reduce_identity(e.reduce, e.dtype));
  if (vector) identity = lanes(identity);
  return window_size(e.reduce_axes) > 0 ? reduce_unrolled(e, 0, identity, vector)
                                        : reduce_loops(e, 0, identity, vector);
}

Value* Evaluation::reduce_unrolled(const ExprNode& e, size_t k, Value* sum, bool vector) {
  if (k == e.reduce_axes.size()) {
    ScopeGuard scope(*this, scope_->mask);
    return emit_combine(f_, e.reduce, e.dtype, sum, body_value(e, vector));
  }
  for (int64_t i = 0; i < e.reduce_axes[k].extent.constant(); ++i) {
    axes_[e.reduce_axes[k].id] = f_.i64(i);
    sum = reduce_unrolled(e, k + 1, sum, vector);
  }
  return sum;
}

Value* Evaluation::reduce_loops(const ExprNode& e, size_t k, Value* sum, bool vector) {
  if (k == e.reduce_axes.size()) {
    ScopeGuard scope(*this, scope_->mask);
    return emit_combine(f_, e.reduce, e.dtype, sum, body_value(e, vector));
  }
  return f_.for_loop(f_.i64(0), f_.dim(e.reduce_axes[k].extent), f_.i64(1), {sum},
                     [&](Value* i, const FunctionBuilder::Values& carried) -> FunctionBuilder::Values {
                       axes_[e.reduce_axes[k].id] = i;
                       return {reduce_loops(e, k + 1, carried[0], vector)};
                     })[0];
}

}  // namespace gcg::cpu
