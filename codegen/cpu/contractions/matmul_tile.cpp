#include "codegen/cpu/contractions/matmul_tile.h"

#include <algorithm>

#include "codegen/cpu/contractions/emit_cases.h"

namespace gcg::cpu {
namespace {

/// The possible heights of the tile.
std::vector<int> heights_of(const MatMulPlan& plan, const RowTile& tile) {
  std::vector<int> heights;
  for (int rows : plan.heights)
    if (rows >= tile.least_rows) heights.push_back(rows);
  return heights;
}

/// Emits all passes over one panel for one tile height.
class RowTileEmitter {
 public:
  RowTileEmitter(FunctionBuilder& f, const MatMulPlan& plan, const RowTile& tile, llvm::Value* rows,
                 llvm::Value* columns, int height)
      : f_(f),
        plan_(plan),
        tile_(tile),
        rows_(rows),
        columns_(columns),
        height_(height),
        widest_(plan.widest(height)) {}

  void whole_panel() {
    for (int v = 0; v < plan_.panel_vectors(); v += widest_) call(f_.i64(v), widest_, false);
  }

  /// Multiplies the first `columns` columns of a panel, fewer than it has.
  void narrow_panel(int64_t columns) {
    const int vectors = static_cast<int>((columns + plan_.lanes - 1) / plan_.lanes);
    for (int v = 0; v < vectors; v += widest_) {
      const bool last = v + widest_ >= vectors;
      call(f_.i64(v), std::min(widest_, vectors - v), last && plan_.masks() && columns % plan_.lanes != 0);
    }
  }

  void strip(llvm::Value* vector) { call(vector, plan_.strip_vectors(), false); }

  void symbolic_panel() {
    llvm::IRBuilder<>& ir = f_.ir();
    llvm::Value* vectors = ir.CreateSDiv(ir.CreateAdd(columns_, f_.i64(plan_.lanes - 1)), f_.i64(plan_.lanes));
    std::vector<int> widths;
    for (int width = 1; width <= widest_; ++width) widths.push_back(width);
    f_.for_loop(f_.i64(0), vectors, f_.i64(widest_), [&](llvm::Value* v) {
      llvm::Value* left = f_.ir().CreateSub(vectors, v);
      llvm::Value* width = f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, f_.i64(widest_));
      emit_cases(f_, width, widths, [&](int vectors_here) { call(v, vectors_here, plan_.masks()); });
    });
  }

 private:
  /// Emits the pass over vectors [v, v + width) of the panel.
  void call(llvm::Value* v, int width, bool masked) {
    llvm::IRBuilder<>& ir = f_.ir();
    MicroKernel shape;
    shape.rows = height_;
    shape.vectors = width;
    shape.lanes = plan_.lanes;
    shape.multiply = plan_.multiply;
    shape.right = tile_.right;
    shape.a_row_stride = constant_of(tile_.a_row_stride);
    shape.a_column_stride = constant_of(tile_.a_column_stride);
    shape.b_row_stride = constant_of(tile_.b_row_stride);
    shape.c_row_stride = plan_.panel_columns;
    shape.prefetch_lines = tile_.fetches ? plan_.prefetch_lines : 0;
    shape.steps = steps_at_once(shape);
    shape.accumulate = tile_.accumulate;
    shape.masked = masked;
    llvm::Value* column = ir.CreateMul(v, f_.i64(plan_.lanes));
    llvm::Value* tail = ir.CreateSub(columns_, ir.CreateAdd(column, f_.i64(int64_t{width - 1} * plan_.lanes)));
    llvm::Value* pass = ir.CreateSDiv(v, f_.i64(widest_));
    llvm::Value* prefetch = ir.CreateGEP(ir.getInt8Ty(), tile_.prefetch, ir.CreateMul(pass, tile_.prefetch_step));
    if (tile_.state) return call_tiles(column, width, prefetch);
    ir.CreateCall(micro_kernel(shape, f_),
                  {tile_.a, f_.element_address(tile_.b, tile_.right, column), tile_.k,
                   f_.element_address(tile_.sums, plan_.number(), column), prefetch, tile_.prefetch_lines,
                   tile_.prefetch_mask, tile_.a_row_stride, tile_.a_column_stride, tile_.b_row_stride, tail});
  }

  /// Two steps where most time is spent. They raise a 9x48 tile from 203 to 216 GFLOP/s (Granite Rapids, peak 240), and
  /// four steps are not faster. The code is longer, so rarely used tiles take one step.
  int steps_at_once(const MicroKernel& shape) const {
    const bool is_hot = !tile_.is_only && !plan_.tiles.is(1) && shape.vectors == widest_ &&
                        2 * shape.rows > plan_.tallest && DotProduct::parts(plan_.multiply) == 1;
    const bool is_even = plan_.steps.is_constant() && plan_.steps.constant() % 2 == 0;
    return is_hot && is_even && shape.a_row_stride && shape.a_column_stride && shape.b_row_stride ? 2 : 1;
  }

  void call_tiles(llvm::Value* column, int width, llvm::Value* prefetch) {
    const auto at_column = [&](llvm::Value* base) {
      return base ? f_.element_address(base, DType::i32, column) : nullptr;
    };
    TileOperands t;
    t.a = tile_.a;
    t.a_row_stride = tile_.a_row_stride;
    t.b = at_column(tile_.b);
    t.last_b = at_column(tile_.last_b);
    t.k = tile_.k;
    t.c = at_column(tile_.sums);
    t.rows = rows_;
    t.prefetch = prefetch;
    t.prefetch_lines = tile_.prefetch_lines;
    t.prefetch_mask = tile_.prefetch_mask;
    tile_.state->multiply({plan_.multiply, tile_.accumulate, width, plan_.panel_columns}, t);
  }

  FunctionBuilder& f_;
  const MatMulPlan& plan_;
  const RowTile& tile_;
  llvm::Value* rows_;
  llvm::Value* columns_;
  int height_;  // the number of rows; for AMX tiles the largest number
  int widest_;
};

}  // namespace

void emit_row_tile(FunctionBuilder& f, const MatMulPlan& plan, const Dim& n, llvm::Value* rows, llvm::Value* columns,
                   const RowTile& tile) {
  emit_cases(f, rows, heights_of(plan, tile), [&](int height) {
    RowTileEmitter emitter(f, plan, tile, rows, columns, height);
    const int64_t narrow = n.is_constant() ? n.constant() % plan.panel_columns : 0;
    if (n.is_constant() && narrow == 0) return emitter.whole_panel();
    if (n.is_constant() && n.constant() < plan.panel_columns) return emitter.narrow_panel(narrow);
    f.if_else(
        f.ir().CreateICmpSGE(columns, f.i64(plan.panel_columns)),
        [&] {
          emitter.whole_panel();
          return FunctionBuilder::Values{};
        },
        [&] {
          if (n.is_constant())
            emitter.narrow_panel(narrow);
          else
            emitter.symbolic_panel();
          return FunctionBuilder::Values{};
        });
  });
}

void emit_row_strip(FunctionBuilder& f, const MatMulPlan& plan, llvm::Value* rows, llvm::Value* vector,
                    const RowTile& tile) {
  emit_cases(f, rows, heights_of(plan, tile),
             [&](int height) { RowTileEmitter(f, plan, tile, rows, f.i64(0), height).strip(vector); });
}

}  // namespace gcg::cpu
