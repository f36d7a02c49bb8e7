// Operands of products that lie in memory as strided views.
#pragma once

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Where element (0, 0) of the view's matrix lies in the batch entry at these coordinates.
llvm::Value* matrix_address(FunctionBuilder& f, const MatrixView& view, DType element,
                            const FunctionBuilder::Values& batch);

/// Columns of B that register tiles read: the first word of the first row, words from row to row.
struct StridedPanel {
  llvm::Value* words = nullptr;
  llvm::Value* row_stride = nullptr;
};

/// Of the `columns` columns from `column` on of the f32 matrix at `b`, `k` rows of them: where they lie, or in `copy`
/// (plan.panel_words() words), where they are packed if `packs` (i1; null: always) holds and lie already if not.
/// `tiles`: row tiles that use the panel, for a plan that decides by them.
StridedPanel emit_strided_panel(FunctionBuilder& f, const MatMulPlan& plan, const MatrixView& view, const Dim& k,
                                llvm::Value* b, llvm::Value* column, llvm::Value* columns, llvm::Value* copy,
                                llvm::Value* tiles, llvm::Value* packs = nullptr);

}  // namespace gcg::cpu
