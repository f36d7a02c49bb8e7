// Operands of products that are strided views in memory.
#pragma once

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// The address of element (0, 0) of the view's matrix in the batch entry at these coordinates.
llvm::Value* matrix_address(FunctionBuilder& f, const MatrixView& view, DType element,
                            const FunctionBuilder::Values& batch);

/// Columns of B for register tiles: the address of the first word of the first row, and the words from row to row.
struct StridedPanel {
  llvm::Value* words = nullptr;
  llvm::Value* row_stride = nullptr;
};

/// Provides the `columns` columns from `column` on of the matrix of words at `b`, which has `k` rows. They are used in
/// place, or packed into `copy` (plan.panel_words() words). `packs` (i1; null: always true) says whether to pack them
/// now; if it is false, `copy` holds them already. `tiles`: the number of row tiles that use the panel, for a plan that
/// decides by it.
StridedPanel emit_strided_panel(FunctionBuilder& f, const MatMulPlan& plan, const MatrixView& view, const Dim& k,
                                llvm::Value* b, llvm::Value* column, llvm::Value* columns, llvm::Value* copy,
                                llvm::Value* tiles, llvm::Value* packs = nullptr);

}  // namespace gcg::cpu
