// Makes panels of B and rows of A at run time.
#pragma once

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Emits panel[k][j] = b[k * row_stride + (column + j) * column_stride] for all k and j < `columns`, rounded up to
/// whole vectors. Lanes past `columns` hold zero or repeat the last column. `panel` has ceil(K / lanes) * lanes rows of
/// plan.panel_columns words; the rows past K get any values.
void emit_pack_panel(FunctionBuilder& f, const MatMulPlan& plan, const MatrixView& view, const Dim& k, llvm::Value* b,
                     llvm::Value* column, llvm::Value* columns, llvm::Value* panel);

/// Emits wide[k][j] = panel[k][j] for k < `steps` and a panel's columns. f16 or bf16 (plan.right) become floats, or
/// pairs of rows of bf16 become words. For AMX tiles, rows of zeros follow up to a multiple of 16.
void emit_widen_panel(FunctionBuilder& f, const MatMulPlan& plan, llvm::Value* panel, llvm::Value* steps,
                      llvm::Value* wide);

/// Rows whose columns are adjacent.
struct RowsOfA {
  llvm::Value* first = nullptr;
  DType element = DType::u8;
  llvm::Value* row_stride = nullptr;  // in elements
  llvm::Value* rows = nullptr;
};

/// Emits the first `steps` words of each row in the form that plan.multiply takes. For AMX tiles bytes stay as they
/// are. Otherwise they become adjacent parts of DotProduct::left, and f32 become pairs of bf16. Zeros follow up to
/// whole vectors. `wide` has plan.widened_row() words per row.
void emit_widen_rows(FunctionBuilder& f, const MatMulPlan& plan, const RowsOfA& a, llvm::Value* steps,
                     llvm::Value* wide);

}  // namespace gcg::cpu
