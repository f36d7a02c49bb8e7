// Rows of A in the form that AMX tiles take (MatMulPlan::tiled, widens()): pairs of bf16, or bytes in whole lines. A
// thread makes the rows of a block once, for all panels of columns.
#pragma once

#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

/// A block of rows: its number, and where its row tiles begin.
struct RowBlock {
  llvm::Value* number = nullptr;  // the block's number among the row blocks of all batch entries
  llvm::Value* a = nullptr;       // address of row 0 of the batch entry
  llvm::Value* row = nullptr;     // the block's first row
};

class NarrowedRows {
 public:
  using RowOf = std::function<llvm::Value*(llvm::Value* tile)>;

  /// Must be constructed where it dominates all uses. `view` and `element` describe A. `steps` is the number of words
  /// of a row. `row_of` returns the first row of a row tile.
  NarrowedRows(FunctionBuilder& f, const MatMulPlan& plan, const MatrixView& view, DType element, llvm::Value* steps,
               RowOf row_of);

  /// Makes the row tiles [from, to) of a block that do not exist yet. The existing tiles are one contiguous range.
  void make(const RowBlock& block, llvm::Value* from, llvm::Value* to);
  /// Address of word `k` of row tile `tile`; rows are plan.widened_row() words apart.
  llvm::Value* place(const RowBlock& block, llvm::Value* tile, llvm::Value* k);

 private:
  llvm::Value* read(llvm::AllocaInst* v) { return f_.ir().CreateLoad(f_.ir().getInt64Ty(), v); }
  void narrow(const RowBlock& block, llvm::Value* from, llvm::Value* to);

  FunctionBuilder& f_;
  const MatMulPlan& plan_;
  const MatrixView& view_;
  DType element_;
  llvm::Value* steps_;
  RowOf row_of_;
  llvm::AllocaInst *block_, *first_, *last_;  // the block whose tiles have been made, and their range
};

}  // namespace gcg::cpu
