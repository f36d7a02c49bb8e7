// Emits the sums of one row tile over one panel of columns, by calls of micro kernels.
#pragma once

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/contractions/microkernel.h"
#include "codegen/cpu/contractions/tile_kernel.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// Operands of a row tile, from its first row and its panel's first column on. Strides have the units of a
/// MicroKernel's strides.
struct RowTile {
  llvm::Value* a = nullptr;
  llvm::Value* b = nullptr;
  DType right = DType::f32;     // type of b: words of 32 bits, f16 or bf16
  llvm::Value* sums = nullptr;  // [rows][panel_columns], aligned to a vector
  llvm::Value* k = nullptr;
  llvm::Value* prefetch = nullptr;
  bool fetches = true;                    // false: the tile never prefetches, and the code has no test for it
  llvm::Value* prefetch_lines = nullptr;  // lines per prefetch period, in each pass over the panel
  llvm::Value* prefetch_mask = nullptr;   // see micro_kernel
  llvm::Value* prefetch_step = nullptr;   // distance of the prefetched addresses of two passes, in bytes
  bool is_only = false;                   // no other row tile reads the panel after this one
  int least_rows = 1;                     // the fewest rows that the tile may have
  bool accumulate = false;                // sums += instead of sums =
  llvm::Value* a_row_stride = nullptr;    // strides that are constants become part of the code
  llvm::Value* a_column_stride = nullptr;
  llvm::Value* b_row_stride = nullptr;
  TileState* state = nullptr;     // for a plan with AMX tiles
  llvm::Value* last_b = nullptr;  // for AMX tiles: see TileOperands
};

/// Emits sums = A * B for `rows` (one of plan.heights) and the panel's `columns` columns. `n` is the extent that
/// columns are counted from: it determines which panels may be narrower than panel_columns.
void emit_row_tile(FunctionBuilder& f, const MatMulPlan& plan, const Dim& n, llvm::Value* rows, llvm::Value* columns,
                   const RowTile& tile);

/// The same for one strip of the panel: `plan.strip_vectors()` vectors of columns from vector number `vector` on. All
/// of them exist in memory.
void emit_row_strip(FunctionBuilder& f, const MatMulPlan& plan, llvm::Value* rows, llvm::Value* vector,
                    const RowTile& tile);

}  // namespace gcg::cpu
