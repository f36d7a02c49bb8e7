#include "codegen/cpu/contractions/matmul_few_rows.h"

#include "codegen/cpu/contractions/block_integers.h"
#include "codegen/cpu/contractions/block_weights.h"
#include "codegen/cpu/contractions/emit_cases.h"
#include "codegen/cpu/contractions/matmul_epilogue.h"
#include "codegen/cpu/contractions/row_tiles.h"
#include "codegen/cpu/contractions/strided_panel.h"
#include "codegen/cpu/llvm/coordinates.h"
#include "codegen/cpu/llvm/emit.h"

namespace gcg::cpu {
namespace {

class FewRows {
 public:
  FewRows(FunctionBuilder& f, const MatMulKernel& matmul, const MatMulPlan& plan)
      : f_(f), matmul_(matmul), plan_(plan), epilogue_(f, matmul, plan) {
    for (int rows : plan.heights)
      if (rows <= plan.few_rows) heights_.push_back(rows);
  }

  void emit() {
    llvm::IRBuilder<>& ir = f_.ir();
    llvm::Value* begin = ir.CreateMul(f_.task_begin(), f_.i64(plan_.grain));
    llvm::Value* end = smin(ir.CreateMul(f_.task_end(), f_.i64(plan_.grain)), f_.dim(plan_.units()));
    RowTiles tiles(f_, matmul_.m.extent, plan_.tiles);
    if (plan_.rows_as_integers) emit_integers();
    std::vector<Axis> walk = {Axis{-1, plan_.panels}};
    walk.insert(walk.end(), matmul_.batch.begin(), matmul_.batch.end());
    walk.push_back(Axis{-1, plan_.tiles});
    f_.for_loop(begin, end, f_.i64(1), coordinates(f_, walk, begin),
                [&](llvm::Value*, const FunctionBuilder::Values& at) {
                  tile(at[0], {at.begin() + 1, at.end() - 1}, tiles.first(at.back()), tiles.height(at.back()));
                  return next_coordinates(f_, walk, at);
                });
  }

 private:
  llvm::Value* smin(llvm::Value* a, llvm::Value* b) {
    return f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  }
  /// The rows of A as integers, after the sums in scratch memory.
  llvm::Value* integers() { return f_.element_address(f_.scratch(), DType::i32, f_.i64(plan_.sums())); }

  void emit_integers() {
    llvm::Value* a = matrix_address(f_, matmul_.a, DType::f32, {});
    emit_integer_rows(f_, matmul_, a, f_.dim(matmul_.a.row_stride), f_.dim(matmul_.m.extent), integers());
  }

  void tile(llvm::Value* panel, const std::vector<llvm::Value*>& batch, llvm::Value* row, llvm::Value* rows) {
    llvm::IRBuilder<>& ir = f_.ir();
    llvm::Value* column = ir.CreateMul(panel, f_.i64(plan_.panel_columns));
    llvm::Value* columns = smin(ir.CreateSub(f_.dim(matmul_.n.extent), column), f_.i64(plan_.panel_columns));
    llvm::Value* sums = f_.scratch();
    const BlockPanel its_panel = block_panel(f_, matmul_, panel);
    llvm::Value* row_stride = f_.dim(matmul_.a.row_stride);
    llvm::Value* a =
        f_.element_address(matrix_address(f_, matmul_.a, DType::f32, batch), DType::f32, ir.CreateMul(row, row_stride));
    const BlockTile its_rows = {a, row_stride, f_.dim(matmul_.a.column_stride), sums};
    if (plan_.rows_as_integers) {
      llvm::Value* from =
          f_.element_address(integers(), DType::i8, ir.CreateMul(row, f_.i64(integer_row_bytes(matmul_))));
      emit_cases(f_, rows, heights_,
                 [&](int height) { emit_integer_tile(f_, matmul_, plan_.lanes, height, its_panel, from, its_rows); });
    } else {
      emit_cases(f_, rows, heights_,
                 [&](int height) { emit_block_tile(f_, matmul_, plan_.lanes, height, its_panel, its_rows); });
    }
    epilogue_.store({batch, row, rows, column, columns, sums});
  }

  FunctionBuilder& f_;
  const MatMulKernel& matmul_;
  const MatMulPlan& plan_;
  MatMulEpilogue epilogue_;
  std::vector<int> heights_;
};

}  // namespace

void emit_few_rows(FunctionBuilder& f, const MatMulKernel& matmul, const MatMulPlan& plan) {
  FewRows(f, matmul, plan).emit();
}

}  // namespace gcg::cpu
