#include "codegen/cpu/contractions/matmul_rows.h"

#include <utility>

#include "codegen/cpu/contractions/matmul_pack.h"

namespace gcg::cpu {

NarrowedRows::NarrowedRows(FunctionBuilder& f, const MatMulPlan& plan, const MatrixView& view, DType element,
                           llvm::Value* steps, RowOf row_of)
    : f_(f),
      plan_(plan),
      view_(view),
      element_(element),
      steps_(steps),
      row_of_(std::move(row_of)),
      block_(f.variable(DType::i64)),
      first_(f.variable(DType::i64)),
      last_(f.variable(DType::i64)) {
  f.ir().CreateStore(f.i64(-1), block_);
}

void NarrowedRows::make(const RowBlock& block, llvm::Value* from, llvm::Value* to) {
  llvm::IRBuilder<>& ir = f_.ir();
  f_.if_then(ir.CreateICmpNE(read(block_), block.number), [&] {
    ir.CreateStore(block.number, block_);
    for (llvm::AllocaInst* v : {first_, last_}) ir.CreateStore(from, v);
  });
  f_.if_then(ir.CreateICmpSLT(from, read(first_)), [&] {
    narrow(block, from, read(first_));
    ir.CreateStore(from, first_);
  });
  f_.if_then(ir.CreateICmpSGT(to, read(last_)), [&] {
    narrow(block, read(last_), to);
    ir.CreateStore(to, last_);
  });
}

llvm::Value* NarrowedRows::place(const RowBlock& block, llvm::Value* tile, llvm::Value* k) {
  llvm::IRBuilder<>& ir = f_.ir();
  llvm::Value* before = ir.CreateMul(ir.CreateSub(row_of_(tile), block.row), f_.dim(plan_.widened_row()));
  llvm::Value* rows = f_.element_address(f_.scratch(), DType::i32, f_.dim(plan_.panel_words() + Dim(plan_.sums())));
  return f_.element_address(rows, DType::i32, ir.CreateAdd(before, k));
}

void NarrowedRows::narrow(const RowBlock& block, llvm::Value* from, llvm::Value* to) {
  llvm::IRBuilder<>& ir = f_.ir();
  llvm::Value *row = row_of_(from), *stride = f_.dim(view_.row_stride);
  llvm::Value* a = f_.element_address(block.a, element_, ir.CreateMul(row, stride));
  emit_widen_rows(f_, plan_, {a, element_, stride, ir.CreateSub(row_of_(to), row)}, steps_,
                  place(block, from, f_.i64(0)));
}

}  // namespace gcg::cpu
