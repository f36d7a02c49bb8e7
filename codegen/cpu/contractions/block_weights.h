// Products by low-bit integers with scales for blocks of rows (BlockPacking), on vectors of f32.
//
// For a few rows of A, integers are multiplied as they are extracted from a word, and each block's sums are multiplied
// by its scales. The panel is read once, from cache or memory, which takes longer than the arithmetic. For more rows, a
// panel is first unpacked to floats in scratch memory.
#pragma once

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// A panel of packed words, the scales and the offsets (or null) of its columns.
struct BlockPanel {
  llvm::Value* words = nullptr;
  llvm::Value* scales = nullptr;
  llvm::Value* offsets = nullptr;
};

/// Panel number `panel` of a product's right operand.
BlockPanel block_panel(FunctionBuilder& f, const MatMulKernel& matmul, llvm::Value* panel);

/// The part of the panel that begins at column number `column`.
BlockPanel from_column(FunctionBuilder& f, const BlockPanel& panel, int64_t column);

/// The most rows of A that are multiplied by packed words directly.
constexpr int kBlockRows = 4;

/// Rows of A and the sums of their products with a panel.
struct BlockTile {
  llvm::Value* a = nullptr;
  llvm::Value* row_stride = nullptr;     // in floats; a constant becomes part of the code
  llvm::Value* column_stride = nullptr;  // the same
  llvm::Value* sums = nullptr;           // [rows][columns of a panel], aligned to a vector
};

/// Emits sums = A * panel for `rows` (at most kBlockRows) rows.
void emit_block_tile(FunctionBuilder& f, const MatMulKernel& matmul, int lanes, int rows, const BlockPanel& panel,
                     const BlockTile& tile);

/// Emits wide[row][column] = w for `rows` rows of a panel from `first` on. `first` must begin a block. Rows up to a
/// whole word get any value.
void emit_unpack_panel(FunctionBuilder& f, const MatMulKernel& matmul, int lanes, const BlockPanel& panel,
                       llvm::Value* first, llvm::Value* rows, llvm::Value* wide);

}  // namespace gcg::cpu
