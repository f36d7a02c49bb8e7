// The epilogue of a product: processes its sums row by row, in vectors along n.
#pragma once

#include <functional>
#include <vector>

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Sums [rows][plan.panel_columns] of a row tile, and the position of the first sum. Only the first `columns` columns
/// belong to the product.
struct RowTileSums {
  std::vector<llvm::Value*> batch;  // coordinates
  llvm::Value* row = nullptr;
  llvm::Value* rows = nullptr;
  llvm::Value* column = nullptr;
  llvm::Value* columns = nullptr;
  llvm::Value* sums = nullptr;
};

class MatMulEpilogue {
 public:
  MatMulEpilogue(FunctionBuilder& f, const MatMulKernel& matmul, const MatMulPlan& plan)
      : f_(f), matmul_(matmul), plan_(plan), expr_(f) {}
  void store(const RowTileSums& tile);

 private:
  void whole_vectors(llvm::Value* end, const std::function<void(llvm::Value*, llvm::Value*)>& vector);

  FunctionBuilder& f_;
  const MatMulKernel& matmul_;
  const MatMulPlan& plan_;
  ExprEmitter expr_;
};

}  // namespace gcg::cpu
