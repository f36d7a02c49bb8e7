// Panels of B and rows of A that are made at run time.
#pragma once

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Emits panel[k][j] = b[k * row_stride + (column + j) * column_stride] for all k and j < `columns`, rounded up to
/// whole vectors; lanes past `columns` hold zero or repeat the last column. `panel` has ceil(K / lanes) * lanes rows of
/// plan.panel_columns floats: the rows past K are overwritten with anything.
void emit_pack_panel(FunctionBuilder& f, const MatMulPlan& plan, const MatrixView& view, const Dim& k, llvm::Value* b,
                     llvm::Value* column, llvm::Value* columns, llvm::Value* panel);

/// Emits wide[k][j] = panel[k][j] for k < `steps` and a panel's columns: f16 or bf16 (plan.right) as floats, or pairs
/// of rows of bf16 as words; of tiles also rows of zeros up to a multiple of 16.
void emit_widen_panel(FunctionBuilder& f, const MatMulPlan& plan, llvm::Value* panel, llvm::Value* steps,
                      llvm::Value* wide);

/// Rows whose columns lie side by side.
struct RowsOfA {
  llvm::Value* first = nullptr;
  DType element = DType::u8;
  llvm::Value* row_stride = nullptr;  // in elements
  llvm::Value* rows = nullptr;
};

/// Emits the first `steps` words of each row as plan.multiply takes them: bytes as they are for tiles, otherwise as the
/// parts of DotProduct::left beside each other, f32 as pairs of bf16; then zeros up to whole vectors. `wide` has
/// plan.widened_row() words per row.
void emit_widen_rows(FunctionBuilder& f, const MatMulPlan& plan, const RowsOfA& a, llvm::Value* steps,
                     llvm::Value* wide);

}  // namespace gcg::cpu
