#include "codegen/cpu/contractions/matmul_pack.h"

#include "codegen/cpu/llvm/widen_half.h"

namespace gcg::cpu {
namespace {

using Values = FunctionBuilder::Values;

/// rows[i] lane j <-> rows[j] lane i, in log2(lanes) rounds that swap off-diagonal blocks of halving size.
Values transpose(FunctionBuilder& f, Values rows) {
  const int lanes = static_cast<int>(rows.size());
  for (int block = lanes / 2; block >= 1; block /= 2) {
    std::vector<int> upper, lower;
    for (int j = 0; j < lanes; ++j) {
      const bool right = (j & block) != 0;
      upper.push_back(right ? lanes + j - block : j);
      lower.push_back(right ? lanes + j : j + block);
    }
    for (int i = 0; i < lanes; ++i) {
      if ((i & block) != 0) continue;
      llvm::Value*& a = rows[static_cast<size_t>(i)];
      llvm::Value*& b = rows[static_cast<size_t>(i + block)];
      llvm::Value* top = f.ir().CreateShuffleVector(a, b, upper);
      b = f.ir().CreateShuffleVector(a, b, lower);
      a = top;
    }
  }
  return rows;
}

class PanelPacker {
 public:
  PanelPacker(FunctionBuilder& f, const MatMulPlan& plan, const MatrixView& view, const Dim& k, llvm::Value* b,
              llvm::Value* panel)
      : f_(f),
        plan_(plan),
        b_(b),
        panel_(panel),
        k_(f.dim(k)),
        row_stride_(f.dim(view.row_stride)),
        column_stride_(f.dim(view.column_stride)) {}

  /// Packs one vector of columns whose elements along k are contiguous in memory: transposes square blocks in
  /// registers.
  void transposed(llvm::Value* column, llvm::Value* last, llvm::Value* place) {
    Values starts;
    for (int j = 0; j < plan_.lanes; ++j) {
      llvm::Value* clamped =
          f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, f_.ir().CreateAdd(column, f_.i64(j)), last);
      starts.push_back(f_.element_address(b_, plan_.number(), f_.ir().CreateMul(clamped, column_stride_)));
    }
    llvm::Value* whole_depth = f_.ir().CreateAnd(k_, f_.i64(-plan_.lanes));
    auto block = [&](llvm::Value* k, llvm::Value* mask) {
      Values rows;
      for (llvm::Value* start : starts) rows.push_back(f_.load(start, plan_.number(), k, plan_.lanes, mask));
      rows = transpose(f_, std::move(rows));
      for (int i = 0; i < plan_.lanes; ++i) store(rows[static_cast<size_t>(i)], f_.ir().CreateAdd(k, f_.i64(i)), place);
    };
    f_.for_loop(f_.i64(0), whole_depth, f_.i64(plan_.lanes), [&](llvm::Value* k) { block(k, nullptr); });
    f_.if_then(f_.ir().CreateICmpSLT(whole_depth, k_),
               [&] { block(whole_depth, f_.first_lanes(f_.ir().CreateSub(k_, whole_depth), plan_.lanes)); });
  }

  /// Packs a whole panel of columns that are contiguous in memory.
  void copied_panel(llvm::Value* column) {
    f_.for_loop(f_.i64(0), k_, f_.i64(1), [&](llvm::Value* k) {
      llvm::Value* offset = f_.ir().CreateAdd(f_.ir().CreateMul(k, row_stride_), column);
      for (int v = 0; v < plan_.panel_vectors(); ++v) {
        llvm::Value* place = f_.i64(int64_t{v} * plan_.lanes);
        store(f_.load(b_, plan_.number(), f_.ir().CreateAdd(offset, place), plan_.lanes), k, place);
      }
    });
  }

  /// Packs one vector of columns that are contiguous in memory; zeros follow the last column.
  void copied(llvm::Value* column, llvm::Value* last, llvm::Value* place) {
    llvm::Value* left = f_.ir().CreateSub(f_.ir().CreateAdd(last, f_.i64(1)), column);
    llvm::Value* mask = f_.first_lanes(left, plan_.lanes);
    f_.for_loop(f_.i64(0), k_, f_.i64(1), [&](llvm::Value* k) {
      llvm::Value* offset = f_.ir().CreateAdd(f_.ir().CreateMul(k, row_stride_), column);
      store(f_.load(b_, plan_.number(), offset, plan_.lanes, mask), k, place);
    });
  }

  /// Packs one vector of columns with any strides.
  void gathered(llvm::Value* column, llvm::Value* last, llvm::Value* place) {
    llvm::Value* columns = f_.ir().CreateAdd(f_.splat(column, plan_.lanes), f_.iota(plan_.lanes));
    columns = f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, columns, f_.splat(last, plan_.lanes));
    llvm::Value* offsets = f_.ir().CreateMul(columns, f_.splat(column_stride_, plan_.lanes));
    f_.for_loop(f_.i64(0), k_, f_.i64(1), [&](llvm::Value* k) {
      llvm::Value* row = f_.element_address(b_, plan_.number(), f_.ir().CreateMul(k, row_stride_));
      store(f_.gather(row, plan_.number(), offsets), k, place);
    });
  }

 private:
  void store(llvm::Value* row, llvm::Value* k, llvm::Value* place) {
    llvm::Value* offset = f_.ir().CreateAdd(f_.ir().CreateMul(k, f_.i64(plan_.panel_columns)), place);
    f_.store(row, panel_, plan_.number(), offset);
  }

  FunctionBuilder& f_;
  const MatMulPlan& plan_;
  llvm::Value* b_;
  llvm::Value* panel_;
  llvm::Value* k_;
  llvm::Value* row_stride_;
  llvm::Value* column_stride_;
};

}  // namespace

void emit_pack_panel(FunctionBuilder& f, const MatMulPlan& plan, const MatrixView& view, const Dim& k, llvm::Value* b,
                     llvm::Value* column, llvm::Value* columns, llvm::Value* panel) {
  PanelPacker packer(f, plan, view, k, b, panel);
  auto by_vectors = [&] {
    llvm::Value* last = f.ir().CreateSub(f.ir().CreateAdd(column, columns), f.i64(1));
    f.for_loop(f.i64(0), columns, f.i64(plan.lanes), [&](llvm::Value* place) {
      llvm::Value* first = f.ir().CreateAdd(column, place);
      if (view.column_stride.is(1))
        packer.copied(first, last, place);
      else if (view.row_stride.is(1))
        packer.transposed(first, last, place);
      else
        packer.gathered(first, last, place);
    });
    return Values{};
  };
  if (!view.column_stride.is(1)) {
    by_vectors();
    return;
  }
  auto at_once = [&] {
    packer.copied_panel(column);
    return Values{};
  };
  f.if_else(f.ir().CreateICmpSGE(columns, f.i64(plan.panel_columns)), at_once, by_vectors);
}

void emit_widen_panel(FunctionBuilder& f, const MatMulPlan& plan, llvm::Value* panel, llvm::Value* steps,
                      llvm::Value* wide) {
  llvm::IRBuilder<>& ir = f.ir();
  const bool pairs = plan.multiply == Multiply::halves;
  f.for_loop(f.i64(0), steps, f.i64(1), [&](llvm::Value* k) {
    llvm::Value* row = ir.CreateMul(k, f.i64(plan.panel_columns), "", true, true);
    llvm::Value* from = pairs ? ir.CreateMul(row, f.i64(2), "", true, true) : row;
    for (int64_t column = 0; column < plan.panel_columns; column += plan.lanes) {
      const auto load = [&](int64_t place) {
        return f.load(panel, plan.right, ir.CreateAdd(from, f.i64(place), "", true, true), plan.lanes);
      };
      llvm::Value* words = pairs ? interleaved_pairs(ir, load(column), load(plan.panel_columns + column))
                                 : widen_half(ir, plan.right, load(column));
      f.store(words, wide, DType::f32, ir.CreateAdd(row, f.i64(column), "", true, true));
    }
  });
  if (!plan.tiled) return;
  llvm::Value* whole_depth = ir.CreateAnd(ir.CreateAdd(steps, f.i64(plan.lanes - 1)), f.i64(-plan.lanes));
  f.for_loop(f.i64(0), f.i64(plan.panel_columns), f.i64(plan.lanes), [&](llvm::Value* column) {
    f.for_loop(steps, whole_depth, f.i64(1), [&](llvm::Value* k) {
      f.store(llvm::Constant::getNullValue(f.type(DType::f32, plan.lanes)), wide, DType::f32,
              ir.CreateAdd(ir.CreateMul(k, f.i64(plan.panel_columns)), column));
    });
  });
}

namespace {

/// A vector of pairs of bf16, from pair `k` of a row of f32 on. `left`: the number of pairs that exist; null: all.
llvm::Value* row_pairs(FunctionBuilder& f, int lanes, llvm::Value* row, llvm::Value* k, llvm::Value* left) {
  llvm::IRBuilder<>& ir = f.ir();
  llvm::Value* floats = ir.CreateMul(k, f.i64(2));
  llvm::Value* count = left ? ir.CreateMul(left, f.i64(2)) : nullptr;
  const auto half = [&](int64_t from) {
    llvm::Value* mask = left ? f.first_lanes(ir.CreateSub(count, f.i64(from)), lanes) : nullptr;
    return f.load(row, DType::f32, ir.CreateAdd(floats, f.i64(from)), lanes, mask);
  };
  return narrowed_pairs(ir, half(0), half(lanes));
}

}  // namespace

void emit_widen_rows(FunctionBuilder& f, const MatMulPlan& plan, const RowsOfA& a, llvm::Value* steps,
                     llvm::Value* wide) {
  llvm::IRBuilder<>& ir = f.ir();
  DotProduct dot(ir, plan.multiply);
  const int lanes = plan.lanes;
  std::vector<int> beside;  // the parts of lane 0, then those of lane 1, ...
  for (int lane = 0; lane < lanes; ++lane) beside.insert(beside.end(), {lane, lanes + lane});
  f.for_loop(f.i64(0), a.rows, f.i64(1), [&](llvm::Value* r) {
    llvm::Value* from = f.element_address(a.first, a.element, ir.CreateMul(r, a.row_stride));
    llvm::Value* to = f.element_address(wide, DType::i32, ir.CreateMul(r, f.dim(plan.widened_row())));
    const auto widen = [&](llvm::Value* k, llvm::Value* left) {
      if (plan.multiply == Multiply::halves) return f.store(row_pairs(f, lanes, from, k, left), to, DType::f32, k);
      llvm::Value* words = f.load(from, DType::i32, k, lanes, left ? f.first_lanes(left, lanes) : nullptr);
      if (plan.multiply == Multiply::bytes) return f.store(words, to, DType::i32, k);
      llvm::Value* both = ir.CreateShuffleVector(dot.left(words, 0), dot.left(words, 1), beside);
      f.store(both, to, DType::i32, ir.CreateMul(k, f.i64(DotProduct::parts(plan.multiply))));
    };
    llvm::Value* whole_depth = ir.CreateAnd(steps, f.i64(-lanes));
    f.for_loop(f.i64(0), whole_depth, f.i64(lanes), [&](llvm::Value* k) { widen(k, nullptr); });
    f.if_then(ir.CreateICmpSLT(whole_depth, steps), [&] { widen(whole_depth, ir.CreateSub(steps, whole_depth)); });
  });
}

}  // namespace gcg::cpu
