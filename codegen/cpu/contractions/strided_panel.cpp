#include "codegen/cpu/contractions/strided_panel.h"

#include "codegen/cpu/contractions/matmul_pack.h"

namespace gcg::cpu {

using Values = FunctionBuilder::Values;

llvm::Value* matrix_address(FunctionBuilder& f, const MatrixView& view, DType element, const Values& batch) {
  llvm::IRBuilder<>& ir = f.ir();
  llvm::Value* offset = f.dim(view.offset);
  for (size_t i = 0; i < batch.size(); ++i)
    offset = ir.CreateAdd(offset, ir.CreateMul(batch[i], f.dim(view.batch_strides[i])));
  return f.element_address(f.operand(view.operand), element, offset);
}

StridedPanel emit_strided_panel(FunctionBuilder& f, const MatMulPlan& plan, const MatrixView& view, const Dim& k,
                                llvm::Value* b, llvm::Value* column, llvm::Value* columns, llvm::Value* copy,
                                llvm::Value* tiles, llvm::Value* packs) {
  using Source = MatMulPlan::Source;
  const auto packed = [&] {
    const auto pack = [&] { emit_pack_panel(f, plan, view, k, b, column, columns, copy); };
    packs == nullptr ? pack() : f.if_then(packs, pack);
    return Values{copy, f.i64(plan.panel_columns)};
  };
  const auto in_place = [&] { return Values{f.element_address(b, plan.number(), column), f.dim(view.row_stride)}; };
  const auto either = [&] {
    return f.if_else(f.ir().CreateICmpSGE(tiles, f.i64(MatMulPlan::copy_tiles)), packed, in_place);
  };
  const Values panel = plan.source == Source::copied     ? packed()
                       : plan.source == Source::in_place ? in_place()
                                                         : either();
  return {panel[0], panel[1]};
}

}  // namespace gcg::cpu
