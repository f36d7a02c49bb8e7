// Programs: statements in order, at each point of the outer axes in turn. Variables are slots of the stack frame, which
// LLVM turns into registers. A statement over many points is a vector loop.
#include <algorithm>
#include <span>

#include "codegen/cpu/expressions/arithmetic.h"
#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/loops/point_work.h"
#include "codegen/cpu/loops/program_call.h"
#include "codegen/cpu/loops/vector_row.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using llvm::Value;
using Values = FunctionBuilder::Values;

class ProgramEmitter {
 public:
  ProgramEmitter(FunctionBuilder& f, const Kernel& kernel, const ProgramKernel& program)
      : f_(f), ir_(f.ir()), exprs_(f), kernel_(kernel), program_(program) {
    for (DType dtype : program.locals) variables_.push_back(f.variable(dtype));
  }

  void emit(const Dim& per_task) {
    std::vector<Axis> outer = program_.outer;
    for (const Axis& a : outer)
      if (a.extent.is(1)) point_.axes[a.id] = f_.i64(0);
    std::erase_if(outer, [](const Axis& a) { return a.extent.is(1); });
    for_each_point(f_, outer, per_task, point_, [&] { emit(program_.body); });
  }

 private:
  void emit(const Statements& block) {
    for (size_t i = 0; i < block.size();) {
      size_t end = i + 1;
      while (end < block.size() && is_one_sweep(block[i], block[end])) ++end;
      if (block[i].kind == Statement::Kind::reduce)
        emit_reduce(std::span(block).subspan(i, end - i));
      else
        emit(block[i]);
      i = end;
    }
  }
  /// True if both are reductions over the same range, their values have the same size, and the second does not read the
  /// first's result.
  static bool is_one_sweep(const Statement& a, const Statement& b) {
    if (a.kind != Statement::Kind::reduce || b.kind != a.kind || reads_variable(b.value, a.local)) return false;
    return size_of(a.value->dtype) == size_of(b.value->dtype) && key(a.begin) == key(b.begin) &&
           key(a.end) == key(b.end);
  }
  static bool reads_variable(const Expr& e, int local) {
    bool reads = false;
    visit(e, [&](const ExprNode& n) { reads |= n.kind == ExprKind::local && n.local == local; });
    return reads;
  }

  void emit(const Statement& s) {
    switch (s.kind) {
      case Statement::Kind::assign:
        ir_.CreateStore(evaluate(s.value), variable(s.local));
        break;
      case Statement::Kind::store:
        emit_store(s);
        break;
      case Statement::Kind::reduce:
        emit_reduce({&s, 1});
        break;
      case Statement::Kind::loop:
        f_.for_loop(evaluate(s.begin), evaluate(s.end), f_.i64(1), [&](Value* i) {
          point_.axes[s.axis.id] = i;
          emit(s.body);
        });
        break;
      case Statement::Kind::loop_while:
        f_.while_loop([&] { return evaluate(s.value); }, [&] { emit(s.body); });
        break;
      case Statement::Kind::branch:
        emit_branch(s);
        break;
      case Statement::Kind::require:
        f_.return_index_error_unless(evaluate(s.value));
        break;
      case Statement::Kind::call:
        emit_call(f_, s, [&](const Expr& e) { return evaluate(e); });
        break;
      case Statement::Kind::launch:
      case Statement::Kind::shared_launch:
      case Statement::Kind::scan:
      case Statement::Kind::order:
      case Statement::Kind::merge:
        GCG_CHECK(false, "a statement that only GPUs have");
    }
  }

  llvm::AllocaInst* variable(int local) { return variables_[static_cast<size_t>(local)]; }

  /// The point with the current values of the statement's variables.
  Point here(const Statement& s) {
    Point p = point_;
    each_expr(s, [&](const Expr& e) { read_variables(e, p); });
    return p;
  }
  void read_variables(const Expr& e, Point& p) {
    visit(e, [&](const ExprNode& n) {
      if (n.kind != ExprKind::local || p.locals.count(n.local) != 0) return;
      llvm::AllocaInst* slot = variable(n.local);
      p.locals[n.local] = ir_.CreateLoad(slot->getAllocatedType(), slot);
    });
  }
  Value* evaluate(const Expr& e) {
    Point p = point_;
    read_variables(e, p);
    return exprs_.evaluate(e, p);
  }

  void emit_branch(const Statement& s) {
    const auto side = [&](const Statements& block) {
      return [this, &block] {
        emit(block);
        return Values{};
      };
    };
    f_.if_else(evaluate(s.value), side(s.body), side(s.otherwise));
  }

  void emit_store(const Statement& s) {
    const auto store = [&] { s.begin ? emit_row(s) : exprs_.store(s.operand, s.index, s.value, here(s)); };
    if (s.unless_same < 0) return store();
    f_.if_then(ir_.CreateICmpNE(f_.operand(s.operand), f_.operand(s.unless_same)), store);
  }

  /// The plan of vectors along the statement's axis.
  StagePlan plan(const Statement& s) const {
    Stage stage;
    stage.kind = s.kind == Statement::Kind::store ? Stage::Kind::store : Stage::Kind::reduce;
    stage.axes = {s.axis};
    stage.value = s.value;
    stage.operand = s.operand;
    stage.index = s.index;
    stage.reduce = s.reduce;
    return plan_row(f_.target(), std::move(stage), s.axis, kernel_.operands);
  }

  void emit_row(const Statement& s) {
    const StagePlan row = plan(s);
    const Point point = here(s);
    for (const RowPiece& piece : row_pieces(f_, row, evaluate(s.begin), evaluate(s.end)))
      run_piece(f_, piece, {}, [&](Value* i, Value* mask, const Values&) {
        const Point p = lanes_at(point, s.axis.id, piece.lanes, i, mask);
        exprs_.store(row.stage.operand, row.stage.index, row.stage.value, p);
        return Values{};
      });
  }

  /// Reads elements once for all reductions of the sweep, which have the same range.
  void emit_reduce(std::span<const Statement> sweep) {
    std::vector<StagePlan> rows;
    std::vector<Point> points;
    Values totals;
    for (const Statement& s : sweep) {
      rows.push_back(plan(s));
      points.push_back(here(s));
      totals.push_back(emit_constant(f_, *reduce_identity(s.reduce, s.value->dtype)));
    }
    for (const RowPiece& piece : row_pieces(f_, rows[0], evaluate(sweep[0].begin), evaluate(sweep[0].end))) {
      for (size_t k = 0; k < sweep.size(); ++k) totals[k] = in_lanes(sweep[k], totals[k], piece.lanes);
      totals = run_piece(f_, piece, totals, [&](Value* i, Value* mask, const Values& carried) {
        Values sums;
        for (size_t k = 0; k < sweep.size(); ++k) {
          const Point p = lanes_at(points[k], sweep[k].axis.id, piece.lanes, i, mask);
          Value* v = f_.splat(exprs_.evaluate(rows[k].stage.value, p), piece.lanes);
          Value* sum = emit_combine(f_, sweep[k].reduce, sweep[k].value->dtype, carried[k], v);
          sums.push_back(mask == nullptr ? sum : ir_.CreateSelect(mask, sum, carried[k]));
        }
        return sums;
      });
    }
    for (size_t k = 0; k < sweep.size(); ++k) {
      const Statement& s = sweep[k];
      ir_.CreateStore(emit_horizontal(f_, s.reduce, s.value->dtype, totals[k]), variable(s.local));
    }
  }
  /// Folds partial results to at most `lanes` lanes; a scalar is broadcast to `lanes`.
  Value* in_lanes(const Statement& s, Value* total, int lanes) {
    while (FunctionBuilder::lanes_of(total) > lanes) total = emit_halve(f_, s.reduce, s.value->dtype, total);
    return f_.splat(total, lanes);
  }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  ExprEmitter exprs_;
  const Kernel& kernel_;
  const ProgramKernel& program_;
  std::vector<llvm::AllocaInst*> variables_;
  Point point_;
};

/// Work of one point of the outer axes, estimated from extents.
Dim work_of(const Statements& block) {
  constexpr int64_t kAssumedTrips = 16;  // assumed number of iterations of a loop that ends on a condition
  Dim sum(0);
  for (const Statement& s : block) {
    Dim once = s.value ? cpu::work_of(s.value) : Dim(1);
    once = once + work_of(s.body) + work_of(s.otherwise);
    const Dim trips = s.begin ? s.axis.extent : s.kind == Statement::Kind::loop_while ? Dim(kAssumedTrips) : Dim(1);
    sum = sum + once * trips;
  }
  return sum;
}

}  // namespace

KernelEmission emit_body(FunctionBuilder& f, const Kernel& kernel, const ProgramKernel& program) {
  const Dim points = extent_of(program.outer);
  const Dim per_task = points_per_task(work_of(program.body));
  ProgramEmitter(f, kernel, program).emit(per_task);
  KernelEmission result;
  result.tasks = ceil_div(points, per_task);
  result.scratch_bytes = array_offset(kernel, kernel.operands.size());
  result.note = concat("program, points ", points.str());
  return result;
}

}  // namespace gcg::cpu
