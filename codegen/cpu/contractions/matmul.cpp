// C = epilogue(A * B): the loop over tasks, their operands, and the epilogue that stores the result.
#include "codegen/cpu/contractions/matmul.h"

#include <optional>

#include "codegen/cpu/contractions/block_weights.h"
#include "codegen/cpu/contractions/matmul_epilogue.h"
#include "codegen/cpu/contractions/matmul_pack.h"
#include "codegen/cpu/contractions/matmul_plan.h"
#include "codegen/cpu/contractions/matmul_rows.h"
#include "codegen/cpu/contractions/matmul_tile.h"
#include "codegen/cpu/contractions/row_tiles.h"
#include "codegen/cpu/contractions/strided_panel.h"
#include "codegen/cpu/llvm/coordinates.h"
#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/kernel/machine.h"

namespace gcg::cpu {
namespace {

constexpr int64_t stream_ahead = 4096;  // bytes fetched ahead when every panel is used once

class MatMulEmitter {
 public:
  using Values = FunctionBuilder::Values;

  MatMulEmitter(FunctionBuilder& f, const Kernel& kernel, const MatMulKernel& matmul, const MatMulPlan& plan)
      : f_(f),
        ir_(f.ir()),
        kernel_(kernel),
        matmul_(matmul),
        element_(kernel.operands[static_cast<size_t>(matmul.a.operand)].dtype),
        right_(kernel.operands[static_cast<size_t>(matmul.b.operand)].dtype),
        plan_(plan),
        state_(f),
        epilogue_(f, matmul, plan) {}

  KernelEmission emit() {
    // A task is `grain` units; a unit is a row tile of a panel.
    begin_ = ir_.CreateMul(f_.task_begin(), f_.i64(plan_.grain));
    end_ = smin(ir_.CreateMul(f_.task_end(), f_.i64(plan_.grain)), f_.dim(plan_.units()));
    f_.if_then(ir_.CreateICmpSLT(begin_, end_), [&] {
      m_ = f_.dim(matmul_.m.extent);
      k_ = f_.dim(plan_.steps);
      tiles_ = f_.dim(plan_.tiles);
      tile_rows_.emplace(f_, matmul_.m.extent, plan_.tiles);
      block_tiles_ = f_.dim(plan_.block_tiles);
      prepare_prefetch();
      begin_tiles();
      llvm::Value* first = ir_.CreateSDiv(begin_, block_tiles_);
      llvm::Value* last = ir_.CreateSDiv(ir_.CreateSub(end_, f_.i64(1)), block_tiles_);
      const std::vector<Axis> walk = axes_of_groups();
      f_.for_loop(first, ir_.CreateAdd(last, f_.i64(1)), f_.i64(1), coordinates(f_, walk, first),
                  [&](llvm::Value* group, const Values& at) {
                    Values next = next_coordinates(f_, walk, at);
                    panel(group, at, next);
                    return next;
                  });
      if (plan_.tiled) state_.release();
    });
    return {plan_.tasks(), plan_.scratch_bytes(), plan_.note()};
  }

 private:
  /// A triple of row block, batch entry and panel. Its tasks are the row tiles.
  struct PanelTask {
    llvm::Value* panel = nullptr;
    llvm::Value* column = nullptr;  // its first column, and its number of columns
    llvm::Value* columns = nullptr;
    llvm::Value* tile = nullptr;      // the row block's first tile
    llvm::Value* rows = nullptr;      // the number of its row block among the row blocks of all entries
    llvm::Value* a = nullptr;         // first row
    std::vector<llvm::Value*> batch;  // coordinates
  };

  bool packed() const { return plan_.source == MatMulPlan::Source::packed; }
  llvm::Value* smin(llvm::Value* a, llvm::Value* b) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
  llvm::Value* smax(llvm::Value* a, llvm::Value* b) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b); }

  /// Row blocks, then panels and batch entries. Constant panels are outermost, so that each is streamed from memory
  /// once; a strided B belongs to its batch entry.
  std::vector<Axis> axes_of_groups() const {
    std::vector<Axis> axes = matmul_.batch;
    axes.insert(packed() ? axes.begin() : axes.end(), Axis{-1, plan_.panels});
    axes.insert(axes.begin(), Axis{-1, plan_.row_blocks});
    return axes;
  }
  llvm::Value* panel_at(const Values& at) const { return packed() ? at[1] : at.back(); }

  llvm::Value* address(const MatrixView& view, const PanelTask& group) {
    return matrix_address(f_, view, element_, group.batch);
  }

  llvm::Value* packed_panel(llvm::Value* panel) {
    llvm::Value* words = ir_.CreateMul(k_, f_.i64(plan_.panel_columns));
    return panel_address(f_.operand(matmul_.b.operand), ir_.CreateMul(panel, words));
  }

  llvm::Value* panel_address(llvm::Value* base, llvm::Value* offset) {
    return f_.element_address(base, plan_.panel_type(), offset);
  }
  llvm::Value* word_address(llvm::Value* base, llvm::Value* offset) {
    return f_.element_address(base, plan_.word(), offset);
  }
  llvm::Value* scratch_after_sums() { return word_address(f_.scratch(), f_.i64(plan_.sums())); }
  /// The distance in A from one k step to the next, in elements.
  llvm::Value* a_step() {
    return ir_.CreateMul(f_.dim(matmul_.a.column_stride), f_.i64(DotProduct::elements(plan_.multiply)));
  }

  /// Emits the group at coordinates `at`, which precedes the one at `after`.
  void panel(llvm::Value* group, const Values& at, const Values& after) {
    PanelTask g;
    g.tile = ir_.CreateMul(at[0], block_tiles_);
    g.panel = panel_at(at);
    g.batch.assign(at.begin() + (packed() ? 2 : 1), at.end() - (packed() ? 0 : 1));
    g.rows = at[0];
    for (size_t i = 0; i < g.batch.size(); ++i)
      g.rows = ir_.CreateAdd(ir_.CreateMul(g.rows, f_.dim(matmul_.batch[i].extent)), g.batch[i]);
    g.a = address(matmul_.a, g);
    g.column = ir_.CreateMul(g.panel, f_.i64(plan_.panel_columns));
    g.columns = smin(ir_.CreateSub(f_.dim(matmul_.n.extent), g.column), f_.i64(plan_.panel_columns));
    RowTile tile;
    tile.a_row_stride = f_.dim(matmul_.a.row_stride);
    tile.a_column_stride = a_step();
    if (plan_.widens()) {
      tile.a_row_stride = f_.dim(plan_.widened_row() * size_of(DType::i32));
      tile.a_column_stride = f_.i64(DotProduct::parts(plan_.multiply) * size_of(DType::i32));
    }
    tile.prefetch_lines = lines_;
    tile.fetches = !plan_.blocks;
    if (plan_.tiled) tile.state = &state_;
    read_b(g, tile);
    if (plan_.has_last_step()) tile.last_b = last_rows_of(tile.b);
    llvm::Value* first_task = ir_.CreateMul(group, block_tiles_);
    llvm::Value* first = ir_.CreateAdd(g.tile, smax(ir_.CreateSub(begin_, first_task), f_.i64(0)));
    llvm::Value* end = smin(ir_.CreateAdd(g.tile, smin(ir_.CreateSub(end_, first_task), block_tiles_)), tiles_);
    llvm::Value* following = following_panel(after, ir_.CreateAdd(first_task, block_tiles_), tile.b);
    fetched_from_ = plan_.chunk() == 1 ? first : nullptr;
    f_.for_loop(first, end, f_.i64(plan_.chunk()), [&](llvm::Value* from) {
      llvm::Value* to = smin(ir_.CreateAdd(from, f_.i64(plan_.chunk())), end);
      // The whole panel is in a near cache if it is not cut along k, so only the following panel is left to fetch.
      llvm::Value* next =
          plan_.k_blocks == 1 ? following : ir_.CreateSelect(ir_.CreateICmpSLT(to, end), tile.b, following);
      const bool is_split = (plan_.strips() || plan_.near) && !plan_.tiles.is_constant();
      if (!is_split) return chunk(g, tile, from, to, next, plan_.strips());
      RowTile only = tile, one_of_several = tile;
      only.fetches = tile.fetches && !plan_.near;
      only.is_only = true;
      one_of_several.least_rows = (plan_.tallest + 1) / 2;
      f_.if_else(
          several_, [&] { return chunk(g, one_of_several, from, to, next, plan_.strips()), Values{}; },
          [&] { return chunk(g, only, from, to, next, false), Values{}; });
    });
  }

  /// Emits row tiles [from, to), one block of k after the other, then their epilogue. `following`: the start of the
  /// next panel.
  void chunk(const PanelTask& g, const RowTile& panel, llvm::Value* from, llvm::Value* to, llvm::Value* following,
             bool strips) {
    if (narrowed_) narrowed_->make(block_of(g), from, to);
    auto block = [&](llvm::Value* k, llvm::Value* depth, llvm::Value* next, bool accumulate) {
      RowTile tile = panel;
      tile.k = depth;
      tile.b = panel_address(panel.b, ir_.CreateMul(k, f_.i64(plan_.panel_columns)));
      tile.accumulate = accumulate;
      const auto tiles = [&](const RowTile& t) {
        if (strips)
          strips_of(g, t, from, to, k, next);
        else
          row_tiles(g, t, from, to, k, next);
        return Values{};
      };
      if (plan_.blocks) return void(tiles(unpacked_panel(g, tile, k)));
      if (!plan_.widens_panels()) return void(tiles(tile));
      if (plan_.tiled) return void(tiles(widened_panel(tile)));
      f_.if_else(
          ir_.CreateICmpSGE(ir_.CreateSub(to, from), f_.i64(MatMulPlan::widen_tiles)),
          [&] { return tiles(widened_panel(tile)); }, [&] { return tiles(tile); });
    };
    if (plan_.k_blocks == 1) {
      block(f_.i64(0), k_, following, false);
    } else {
      const int64_t depth = plan_.k_block, steps = plan_.steps.constant();
      llvm::Value* first = first_depth();
      block(f_.i64(0), first, panel_address(panel.b, ir_.CreateMul(first, f_.i64(plan_.panel_columns))), false);
      f_.for_loop(first, f_.i64(steps), f_.i64(depth), [&](llvm::Value* k) {
        llvm::Value* end = ir_.CreateAdd(k, f_.i64(depth));
        llvm::Value* further = panel_address(panel.b, ir_.CreateMul(end, f_.i64(plan_.panel_columns)));
        llvm::Value* next = ir_.CreateSelect(ir_.CreateICmpSLT(end, f_.i64(steps)), further, following);
        block(k, smin(f_.i64(depth), ir_.CreateSub(f_.i64(steps), k)), next, true);
      });
    }
    f_.for_loop(from, to, f_.i64(1), [&](llvm::Value* t) {
      epilogue_.store({g.batch, row_of(t), rows_of(t), g.column, g.columns, sums_of(ir_.CreateSub(t, from))});
    });
  }

  /// The depth of the first block of k. If few rows have several sets of sums, the first block is all of k, because the
  /// sets are added at the end of a block. So the order of the sums is the same as in a product that is not cut.
  llvm::Value* first_depth() {
    if (plan_.heights.front() > MicroKernel::most_split_rows || plan_.widens() || plan_.blocks)
      return f_.i64(plan_.k_block);
    return ir_.CreateSelect(ir_.CreateICmpSLE(m_, f_.i64(MicroKernel::most_split_rows)), k_, f_.i64(plan_.k_block));
  }

  llvm::Value* rows_of(llvm::Value* t) { return tile_rows_->height(t); }
  llvm::Value* row_of(llvm::Value* t) { return tile_rows_->first(t); }
  llvm::Value* sums_of(llvm::Value* slot) {
    return word_address(f_.scratch(), ir_.CreateMul(slot, f_.i64(plan_.tile_sums())));
  }

  /// The operands of row tile `t`, from column `k` of A on.
  RowTile row_tile(const PanelTask& g, RowTile tile, llvm::Value* t, llvm::Value* from, llvm::Value* k) {
    llvm::Value* offset =
        ir_.CreateAdd(ir_.CreateMul(row_of(t), f_.dim(matmul_.a.row_stride)), ir_.CreateMul(k, a_step()));
    tile.sums = sums_of(ir_.CreateSub(t, from));
    tile.a = f_.element_address(g.a, element_, offset);
    if (narrowed_) tile.a = narrowed_->place(block_of(g), t, k);
    if (plan_.widens() && !narrowed_) tile.a = widened_rows(tile.a, rows_of(t), tile.k);
    return tile;
  }

  /// Emits row tiles [from, to) one after the other over the whole panel. `next`: the data to prefetch at the same
  /// time.
  void row_tiles(const PanelTask& g, const RowTile& panel, llvm::Value* from, llvm::Value* to, llvm::Value* k,
                 llvm::Value* next) {
    f_.for_loop(from, to, f_.i64(1), [&](llvm::Value* t) {
      RowTile tile = row_tile(g, panel, t, from, k);
      fetch_meanwhile(tile, next,
                      ir_.CreateMul(ir_.CreateSub(t, fetched_from_ ? fetched_from_ : from), f_.i64(plan_.passes())));
      tile.prefetch_step = prefetch_step_;
      emit_row_tile(f_, plan_, matmul_.n.extent, rows_of(t), g.columns, tile);
    });
  }

  /// Does the same strip by strip: all row tiles go over one strip before the next one.
  void strips_of(const PanelTask& g, const RowTile& panel, llvm::Value* from, llvm::Value* to, llvm::Value* k,
                 llvm::Value* next) {
    const int64_t width = plan_.strip_vectors();
    llvm::Value* vectors = ir_.CreateSDiv(ir_.CreateAdd(g.columns, f_.i64(plan_.lanes - 1)), f_.i64(plan_.lanes));
    f_.for_loop(f_.i64(0), vectors, f_.i64(width), [&](llvm::Value* vector) {
      f_.for_loop(from, to, f_.i64(1), [&](llvm::Value* t) {
        RowTile tile = row_tile(g, panel, t, from, k);
        llvm::Value* before = ir_.CreateMul(ir_.CreateSDiv(vector, f_.i64(width)), ir_.CreateSub(to, from));
        fetch_meanwhile(tile, next, ir_.CreateAdd(before, ir_.CreateSub(t, from)));
        tile.prefetch_step = f_.i64(0);
        emit_row_strip(f_, plan_, rows_of(t), vector, tile);
      });
    });
  }

  /// Sets the part of the next block of a panel that pass number `pass` over the current block prefetches.
  void fetch_meanwhile(RowTile& tile, llvm::Value* next, llvm::Value* pass) {
    tile.prefetch = ir_.CreateGEP(ir_.getInt8Ty(), prefetch_start(tile.b, next), ir_.CreateMul(pass, prefetch_step_));
    llvm::Value* needed = ir_.CreateICmpSLT(ir_.CreateMul(pass, lines_), f_.i64(plan_.panel_lines()));
    needed = plan_.near ? ir_.CreateAnd(needed, several_) : ir_.CreateOr(needed, ir_.CreateNot(together_));
    tile.prefetch_mask = ir_.CreateSelect(needed, f_.i64(MicroKernel::prefetch_period - 1), f_.i64(-1));
  }

  /// Widens or interleaves a panel of 16-bit floats in scratch memory.
  RowTile widened_panel(RowTile tile) {
    llvm::Value* wide = scratch_after_sums();
    emit_widen_panel(f_, plan_, tile.b, tile.k, wide);
    tile.b = wide;
    tile.b_row_stride = f_.i64(plan_.panel_columns);
    tile.right = DType::f32;
    if (plan_.tiled)  // rounded up: zeros follow, also in the rows of A
      tile.k = ir_.CreateAnd(ir_.CreateAdd(tile.k, f_.i64(plan_.lanes - 1)), f_.i64(-plan_.lanes));
    return tile;
  }

  /// Unpacks the rows of a panel of integers, from `k` on, to floats in scratch memory.
  RowTile unpacked_panel(const PanelTask& g, RowTile tile, llvm::Value* k) {
    tile.b = scratch_after_sums();
    tile.b_row_stride = f_.i64(plan_.panel_columns);
    tile.right = DType::f32;
    emit_unpack_panel(f_, matmul_, plan_.lanes, block_panel(f_, matmul_, g.panel), k, tile.k, tile.b);
    return tile;
  }

  /// Widens `steps` words of each row of A into scratch memory.
  llvm::Value* widened_rows(llvm::Value* a, llvm::Value* rows, llvm::Value* steps) {
    llvm::Value* to = word_address(scratch_after_sums(), f_.dim(plan_.panel_words()));
    emit_widen_rows(f_, plan_, {a, element_, f_.dim(matmul_.a.row_stride), rows}, steps, to);
    return to;
  }

  void begin_tiles() {
    if (!plan_.tiled) return;
    state_.begin();
    state_.set_rows(tile_rows_->greatest_height());
    if (plan_.widens())
      narrowed_.emplace(f_, plan_, matmul_.a, element_, k_, [this](llvm::Value* tile) { return row_of(tile); });
  }
  /// The rows of the panel that remain after its whole steps.
  llvm::Value* last_rows_of(llvm::Value* panel) {
    llvm::Value *whole_depth = ir_.CreateAnd(k_, f_.i64(-plan_.lanes)), *to = scratch_after_sums();
    llvm::Value* from = panel_address(panel, ir_.CreateMul(whole_depth, f_.i64(plan_.panel_columns)));
    emit_last_rows(f_, from, ir_.CreateSub(k_, whole_depth), plan_.panel_columns, to);
    return to;
  }
  RowBlock block_of(const PanelTask& g) { return {g.rows, g.a, row_of(g.tile)}; }

  void read_b(const PanelTask& g, RowTile& tile) {
    if (packed()) {
      tile.b = packed_panel(g.panel);
      tile.right = plan_.multiply == Multiply::halves ? plan_.right : plan_.panel_type();
      tile.b_row_stride = f_.i64(plan_.panel_columns * (plan_.multiply == Multiply::halves ? 2 : 1));
      return;
    }
    const StridedPanel panel =
        emit_strided_panel(f_, plan_, matmul_.b, matmul_.k.extent, address(matmul_.b, g), g.column, g.columns,
                           plan_.copies() ? scratch_after_sums() : nullptr, tiles_);
    tile.b = panel.words;
    tile.right = plan_.number();
    tile.b_row_stride = panel.row_stride;
  }

  // Prefetch: if one block of a panel has several passes, of one row tile or of many, these passes together fetch the
  // thread's next block. A single pass fetches a fixed distance ahead.

  void prepare_prefetch() {
    several_ = ir_.CreateICmpSGT(tiles_, f_.i64(1));
    together_ = ir_.CreateOr(several_, ir_.CreateICmpSGE(m_, f_.i64(plan_.rows_together())));
    if (plan_.prefetch_lines)
      lines_ = f_.i64(*plan_.prefetch_lines);
    else
      lines_ = ir_.CreateSelect(several_, f_.dim(plan_.lines_per_pass()), lines_of_one_tile());
    const Dim depth = plan_.k_blocks > 1 ? Dim(plan_.k_block) : plan_.steps;
    llvm::Value* periods = f_.dim(ceil_div(depth, MicroKernel::prefetch_period));
    prefetch_step_ = ir_.CreateMul(ir_.CreateMul(periods, lines_), f_.i64(kCacheLine));
    prefetch_step_ = ir_.CreateSelect(together_, prefetch_step_, f_.i64(0));
  }

  /// The number of lines that a pass of a single row tile fetches, by the tile's height.
  llvm::Value* lines_of_one_tile() {
    llvm::Value* lines = f_.i64(plan_.panel_lines());
    for (int rows = plan_.rows_together(); rows <= plan_.tallest; ++rows) {
      const int64_t passes = plan_.passes(rows), share = (plan_.panel_lines() + passes - 1) / passes;
      lines = ir_.CreateSelect(ir_.CreateICmpSGE(m_, f_.i64(rows)), f_.i64(share), lines);
    }
    return lines;
  }

  /// The panel that this thread reads after the current group, whose last task is before `next_task`; `current` if
  /// there is none.
  llvm::Value* following_panel(const Values& after, llvm::Value* next_task, llvm::Value* current) {
    if (!packed()) return current;
    return ir_.CreateSelect(ir_.CreateICmpSLT(next_task, end_), packed_panel(panel_at(after)), current);
  }

  llvm::Value* prefetch_start(llvm::Value* current, llvm::Value* next) {
    llvm::Value* ahead = ir_.CreateConstGEP1_64(ir_.getInt8Ty(), current, static_cast<uint64_t>(stream_ahead));
    return ir_.CreateSelect(together_, next, ahead);
  }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  const Kernel& kernel_;
  const MatMulKernel& matmul_;
  DType element_, right_;  // types of A and B in memory
  const MatMulPlan& plan_;
  TileState state_;
  MatMulEpilogue epilogue_;
  llvm::Value* begin_ = nullptr;  // units
  llvm::Value* end_ = nullptr;
  llvm::Value* m_ = nullptr;
  llvm::Value* k_ = nullptr;
  llvm::Value* tiles_ = nullptr;
  llvm::Value* block_tiles_ = nullptr;
  std::optional<RowTiles> tile_rows_;
  llvm::Value* several_ = nullptr;        // true for more than one row tile
  llvm::Value* together_ = nullptr;       // true if the passes over a panel fetch the next one together
  llvm::Value* lines_ = nullptr;          // lines to prefetch in each period of a pass
  llvm::Value* fetched_from_ = nullptr;   // the row tile at which fetching begins; null: the first one of a chunk
  llvm::Value* prefetch_step_ = nullptr;  // bytes fetched by a pass
  std::optional<NarrowedRows> narrowed_;  // for AMX tiles
};

}  // namespace

KernelEmission emit_matmul(FunctionBuilder& f, const Kernel& kernel, const MatMulKernel& matmul,
                           const MatMulPlan& plan) {
  return MatMulEmitter(f, kernel, matmul, plan).emit();
}

}  // namespace gcg::cpu
