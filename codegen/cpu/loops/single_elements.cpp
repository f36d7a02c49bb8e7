#include "codegen/cpu/loops/single_elements.h"

#include "codegen/cpu/loops/vector_row.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {

SingleElements::SingleElements(const Kernel& kernel, const StagePlan& plan, const Axis& run) : plan_(plan), run_(run) {
  const auto length = plan.lane.extent.symbol_name();
  const Expr& value = plan.stage.value;
  if (!length || plan.minor.id >= 0 || value->kind != ExprKind::load || has_guarded_load(value)) return;
  const Expr one = rewrite(value, [&](const Expr& e) -> Expr {
    return e->kind == ExprKind::extent ? extent(e->dim.substitute({{*length, Dim(1)}})) : nullptr;
  });
  const auto step = address_stride(kernel.operands[static_cast<size_t>(one->operand)], one->args, run.id);
  if (step && step->is(1)) value_ = one;
}

void SingleElements::emit(FunctionBuilder& f, const Point& point, llvm::Value* at, int count) const {
  llvm::IRBuilder<>& ir = f.ir();
  ExprEmitter exprs(f);
  Point row = point;
  row.axes[plan_.lane.id] = at;
  llvm::Value *first = row.axes.at(run_.id),
              *elements = exprs.evaluate(value_, lanes_at(row, run_.id, count, first, nullptr));
  for (int j = 0; j < count; ++j) {
    row.axes[run_.id] = ir.CreateAdd(first, f.i64(j));
    exprs.store(plan_.stage.operand, plan_.stage.index, ir.CreateExtractElement(elements, static_cast<uint64_t>(j)),
                row);
  }
}

}  // namespace gcg::cpu
