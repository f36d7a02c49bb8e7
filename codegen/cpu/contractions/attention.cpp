// Attention, one block of query rows after another. A block computes its scores, their softmax, and the sums of values.
#include <optional>

#include "codegen/cpu/contractions/attention_plan.h"
#include "codegen/cpu/contractions/index_arithmetic.h"
#include "codegen/cpu/contractions/matmul_epilogue.h"
#include "codegen/cpu/contractions/matmul_tile.h"
#include "codegen/cpu/contractions/row_tiles.h"
#include "codegen/cpu/contractions/strided_panel.h"
#include "codegen/cpu/llvm/coordinates.h"
#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/loops/reduce_stage.h"
#include "codegen/cpu/loops/store_row.h"

namespace gcg::cpu {
namespace {

using Values = FunctionBuilder::Values;

class AttentionEmitter {
 public:
  AttentionEmitter(FunctionBuilder& f, const AttentionPlan& plan) : f_(f), ir_(f.ir()), index_(f), plan_(plan) {}

  void emit() {
    const Dim& m = plan_.scores.m.extent;
    const Dim& tiles = plan_.scores_plan.tiles;
    tiles_ = f_.dim(tiles);
    tile_rows_.emplace(f_, m, tiles);
    several_ = ir_.CreateICmpSGT(f_.dim(plan_.blocks), f_.i64(1));
    std::vector<Axis> walk = plan_.scores.batch;
    walk.back() = {-1, plan_.blocks};
    llvm::Value* begin = f_.task_begin();
    f_.for_loop(begin, f_.task_end(), f_.i64(1), coordinates(f_, walk, begin),
                [&](llvm::Value* task, const Values& at) {
                  const Values next = next_coordinates(f_, walk, at);
                  block(at, ir_.CreateICmpEQ(task, begin));
                  return next;
                });
  }

 private:
  /// The rows that one task computes.
  struct Block {
    Values batch;            // coordinates of the batch axes, then `first`
    llvm::Value *from, *to;  // row tiles
    llvm::Value *first, *rows;
    llvm::Value* packs;  // true if the block packs panels: it is the thread's first block of this entry
  };

  /// A word of scratch memory, after the arrays.
  llvm::Value* scratch_word(llvm::Value* word) {
    const Kernel& kernel = f_.kernel();
    llvm::Value* base =
        ir_.CreateGEP(ir_.getInt8Ty(), f_.scratch(), f_.dim(array_offset(kernel, kernel.operands.size())));
    return f_.element_address(base, DType::f32, word);
  }

  void block(const Values& at, llvm::Value* is_first_task) {
    Block b;
    b.from = index_.mul(at.back(), f_.dim(plan_.block_tiles));
    b.to = index_.min(index_.add(b.from, f_.dim(plan_.block_tiles)), tiles_);
    b.first = tile_rows_->first(b.from);
    b.rows = index_.sub(tile_rows_->first(b.to), b.first);
    b.batch = at;
    b.batch.back() = b.first;
    b.packs = ir_.CreateOr(is_first_task, ir_.CreateICmpEQ(at.back(), f_.i64(0)));
    product(b, plan_.scores, plan_.scores_plan);
    softmax(b);
    product(b, plan_.sums, plan_.sums_plan);
  }

  void product(const Block& b, const MatMulKernel& matmul, const MatMulPlan& plan) {
    llvm::Value* left = matrix_address(f_, matmul.a, DType::f32, b.batch);
    llvm::Value* right = matrix_address(f_, matmul.b, DType::f32, b.batch);
    MatMulEpilogue epilogue(f_, matmul, plan);
    f_.for_loop(f_.i64(0), f_.dim(plan.panels), f_.i64(1), [&](llvm::Value* panel) {
      llvm::Value* column = index_.mul(panel, plan.panel_columns);
      llvm::Value* columns = index_.min(index_.sub(f_.dim(matmul.n.extent), column), f_.i64(plan.panel_columns));
      const StridedPanel words = emit_strided_panel(f_, plan, matmul.b, matmul.k.extent, right, column, columns,
                                                    panel_copy(plan, panel), tiles_, b.packs);
      RowTile tile = row_tile(matmul, words);
      f_.for_loop(b.from, b.to, f_.i64(1), [&](llvm::Value* t) {
        tile.a = f_.element_address(left, DType::f32, index_.mul(tile_rows_->first(t), tile.a_row_stride));
        tile.prefetch = tile.a;
        emit_row_tile(f_, plan, matmul.n.extent, tile_rows_->height(t), columns, tile);
        epilogue.store({b.batch, tile_rows_->first(t), tile_rows_->height(t), column, columns, tile.sums});
      });
    });
  }

  RowTile row_tile(const MatMulKernel& matmul, const StridedPanel& panel) {
    RowTile tile;
    tile.b = panel.words;
    tile.b_row_stride = panel.row_stride;
    tile.sums = scratch_word(f_.i64(0));
    tile.k = f_.dim(matmul.k.extent);
    tile.fetches = false;
    tile.prefetch_lines = tile.prefetch_step = f_.i64(0);
    tile.prefetch_mask = f_.i64(-1);
    tile.a_row_stride = f_.dim(matmul.a.row_stride);
    tile.a_column_stride = f_.dim(matmul.a.column_stride);
    return tile;
  }

  /// The memory for a packed panel. A panel that several blocks use has its own memory; other panels share one place.
  llvm::Value* panel_copy(const MatMulPlan& plan, llvm::Value* panel) {
    if (!plan.copies()) return nullptr;
    llvm::Value* place = ir_.CreateSelect(several_, panel, f_.i64(0));
    return scratch_word(index_.add(f_.dim(plan_.panel_offset(plan)), index_.mul(place, f_.dim(plan.panel_words()))));
  }

  void softmax(const Block& b) {
    Point point;
    for (size_t i = 0; i < b.batch.size(); ++i) point.axes[plan_.scores.batch[i].id] = b.batch[i];
    f_.for_loop(b.first, index_.add(b.first, b.rows), f_.i64(1), [&](llvm::Value* row) {
      point.axes[plan_.scores.m.id] = row;
      for (const StagePlan& stage : plan_.softmax) {
        if (stage.stage.kind == Stage::Kind::reduce)
          point.locals[stage.stage.local] = emit_reduce_stage(f_, stage, point);
        else if (stage.lane.id < 0)
          ExprEmitter(f_).store(stage.stage.operand, stage.stage.index, stage.stage.value, point);
        else
          emit_store_row(f_, stage, point, f_.i64(0), f_.dim(plan_.scores.n.extent));
      }
    });
  }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  IndexArithmetic index_;
  const AttentionPlan& plan_;
  llvm::Value* tiles_ = nullptr;
  std::optional<RowTiles> tile_rows_;
  llvm::Value* several_ = nullptr;  // true if an entry has several blocks
};

}  // namespace

KernelEmission emit_body(FunctionBuilder& f, const Kernel&, const AttentionKernel& attention) {
  const AttentionPlan plan = plan_attention(f, attention);
  AttentionEmitter(f, plan).emit();
  const Dim arrays = array_offset(f.kernel(), f.kernel().operands.size());
  return {plan.tasks(), arrays + plan.words() * size_of(DType::f32), plan.note()};
}

}  // namespace gcg::cpu
