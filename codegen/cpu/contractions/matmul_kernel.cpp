// Chooses the code of a matrix product by the number of its rows, even if only a run knows it.
#include "codegen/cpu/contractions/matmul.h"
#include "codegen/cpu/contractions/matmul_few_rows.h"
#include "codegen/cpu/contractions/tile_kernel.h"

namespace gcg::cpu {

KernelEmission emit_body(FunctionBuilder& f, const Kernel& kernel, const MatMulKernel& matmul) {
  const DType right = kernel.operands[static_cast<size_t>(matmul.b.operand)].dtype;
  const Multiply multiply = multiply_of_product(f.target(), kernel, matmul);
  const MatMulPlan plan = plan_matmul(matmul, f.target(), multiply, right);
  const Dim& rows = matmul.m.extent;
  if (plan.blocks) {
    const auto few = [&] { return emit_few_rows(f, matmul, plan), FunctionBuilder::Values{}; };
    const auto many = [&] { return emit_matmul(f, kernel, matmul, plan), FunctionBuilder::Values{}; };
    if (!rows.is_constant())
      f.if_else(f.ir().CreateICmpSLE(f.dim(rows), f.i64(plan.few_rows)), few, many);
    else if (rows.constant() <= plan.few_rows)
      few();
    else
      many();
    return {plan.tasks(), plan.scratch_bytes(), plan.note()};
  }
  if (!plan.tiled || rows.is_constant()) return emit_matmul(f, kernel, matmul, plan);
  // Few rows are multiplied by vectors instead of AMX tiles. They are one row tile in both plans, so the tasks are the
  // same.
  CpuTarget vectors = f.target();
  vectors.has_amx = false;
  MatMulPlan few = plan_matmul(matmul, vectors, sums_floats(multiply) ? Multiply::floats : multiply, right);
  few.grain = plan.grain;
  const auto emit = [&](const MatMulPlan& chosen) {
    emit_matmul(f, kernel, matmul, chosen);
    return FunctionBuilder::Values{};
  };
  llvm::Value* are_few = f.ir().CreateICmpSLT(f.dim(rows), f.i64(TileKernel::least_rows));
  f.if_else(are_few, [&] { return emit(few); }, [&] { return emit(plan); });
  return {plan.tasks(), max(plan.scratch_bytes(), few.scratch_bytes()), plan.note()};
}

}  // namespace gcg::cpu
