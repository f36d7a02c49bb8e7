#include "codegen/cpu/contractions/block_integers.h"

#include <string>

#include "codegen/cpu/contractions/block_tile.h"
#include "codegen/cpu/contractions/dot_product.h"
#include "codegen/cpu/contractions/integer_rows.h"

namespace gcg::cpu {
namespace {

using Values = FunctionBuilder::Values;

constexpr int kLanes = IntegerRowLayout::kLanes;

/// The body of a function that multiplies `rows` rows of integers by `vectors` vectors of columns.
class TileEmitter : PanelTile {
 public:
  TileEmitter(FunctionBuilder& f, const BlockPacking& packing, int64_t columns, int rows, int vectors)
      : PanelTile(f, packing, columns, kLanes, rows, vectors), layout_(packing), dot_(f.ir(), Multiply::bytes) {}

  void emit(const BlockPanel& panel, llvm::Value* integers, llvm::Value* sums) {
    panel_ = panel;
    integers_ = integers;
    add_blocks(layout_.block, sums, [this](llvm::Value* block, int64_t rows, Values totals) {
      return add_block(block, rows, std::move(totals));
    });
  }

 private:
  llvm::Value* row(size_t r, int64_t part) {
    return at_byte(f_, integers_, f_.i64(static_cast<int64_t>(r) * layout_.bytes() + part));
  }
  /// Returns totals + (sums of `rows` rows of a block of A) * both scales - (sums of A) * offsets. The weights are
  /// multiplied as unsigned integers; the start values of the sums compensate for this exactly.
  Values add_block(llvm::Value* block, int64_t rows, Values totals) {
    llvm::IRBuilder<>& ir = f_.ir();
    const size_t tile = rows_ * vectors_;
    llvm::Value* first = ir.CreateMul(block, f_.i64(layout_.block / packing_.per_word()));
    const auto parts = static_cast<size_t>(layout_.parts());
    Values starts;
    for (size_t p = 0; p < parts; ++p)
      for (size_t r = 0; r < rows_; ++r) {
        llvm::Value* start = f_.load(row(r, layout_.starts(static_cast<int64_t>(p))), DType::i32, block, 1);
        starts.insert(starts.end(), vectors_, f_.splat(start, kLanes));
      }
    const Values sums = f_.for_loop(
        f_.i64(0), f_.i64(blocks_of(rows, packing_.per_word())), f_.i64(1), starts,
        [&](llvm::Value* word, const Values& so_far) { return add_word(ir.CreateAdd(first, word), so_far); });
    llvm::Value* of_weights = ir.CreateSDiv(block, f_.i64(layout_.per_weights_block()));
    std::vector<llvm::Value*> scales, offset;  // one per row
    for (size_t r = 0; r < rows_; ++r) {
      llvm::Value* scale = f_.load(row(r, layout_.scales()), DType::f32, block, 1);
      llvm::Value* sum = f_.load(row(r, layout_.sums()), DType::f32, block, 1);
      scales.push_back(f_.splat(scale, kLanes));
      if (panel_.offsets) offset.push_back(f_.splat(ir.CreateFMul(ir.CreateFNeg(sum), scale), kLanes));
    }
    for (size_t v = 0; v < vectors_; ++v) {
      llvm::Value* w_scales = vector_at(panel_.scales, DType::f32, of_weights, v);
      llvm::Value* w_offsets = panel_.offsets ? vector_at(panel_.offsets, DType::f32, of_weights, v) : nullptr;
      for (size_t r = 0; r < rows_; ++r) {
        const size_t i = r * vectors_ + v;
        const auto of_part = [&](size_t p) { return ir.CreateSIToFP(sums[p * tile + i], f_.type(DType::f32, kLanes)); };
        llvm::Value* sum = of_part(0);
        for (size_t p = 1; p < parts; ++p) sum = multiply_add(sum, f_.splat(f_.f32(256), kLanes), of_part(p));
        totals[i] = multiply_add(ir.CreateFMul(sum, scales[r]), w_scales, totals[i]);
        if (w_offsets) totals[i] = multiply_add(offset[r], w_offsets, totals[i]);
      }
    }
    return totals;
  }

  /// Adds one line of words. The sums of the uppermost bytes come first.
  Values add_word(llvm::Value* line, Values sums) {
    llvm::IRBuilder<>& ir = f_.ir();
    const size_t tile = rows_ * vectors_;
    Values words;
    for (size_t v = 0; v < vectors_; ++v) words.push_back(vector_at(panel_.words, DType::i32, line, v));
    const uint64_t each_byte = 0x01010101, signs = each_byte << (packing_.bits - 1),
                   mask = each_byte * ((uint64_t{1} << packing_.bits) - 1);
    for (int64_t group = 0; group < layout_.vnni_groups(); ++group) {
      Values q;
      for (llvm::Value* word : words) {
        llvm::Value* low = ir.CreateXor(ir.CreateLShr(word, static_cast<uint64_t>(group * packing_.bits)), signs);
        q.push_back(packing_.bits == 8 ? low : ir.CreateAnd(low, mask));
      }
      llvm::Value* place = ir.CreateAdd(ir.CreateMul(line, f_.i64(layout_.vnni_groups())), f_.i64(group));
      for (size_t r = 0; r < rows_; ++r)
        for (size_t part = 0; part < sums.size() / tile; ++part) {
          llvm::Value* bytes = f_.load(row(r, layout_.part(static_cast<int64_t>(part))), DType::i32, place, 1);
          for (size_t v = 0; v < vectors_; ++v) {
            llvm::Value*& sum = sums[part * tile + r * vectors_ + v];
            sum = dot_.add(q[v], f_.splat(bytes, kLanes), sum);
          }
        }
    }
    return sums;
  }

  const IntegerRowLayout layout_;
  DotProduct dot_;
  BlockPanel panel_;
  llvm::Value* integers_ = nullptr;
};

/// The body of a function for the elements of one row that stay floats (IntegerRowLayout). It adds their products to
/// the row's sums. Each weight is q * scale - offset, rounded twice, so that a weight of 0 is exactly 0.
class LargeElements : PanelTile {
 public:
  LargeElements(FunctionBuilder& f, const BlockPacking& packing, int64_t columns)
      : PanelTile(f, packing, columns, kLanes, 1, static_cast<int>(columns) / kLanes), layout_(packing) {}

  void emit(const BlockPanel& panel, llvm::Value* a, llvm::Value* integers, llvm::Value* sums) {
    llvm::IRBuilder<>& ir = f_.ir();
    panel_ = panel;
    constexpr int kWord = 64;
    llvm::Value* bits = at_byte(f_, integers, f_.i64(layout_.large()));
    f_.for_loop(f_.i64(0), f_.i64(layout_.row / kWord), f_.i64(1), [&](llvm::Value* word) {
      llvm::Value* set = f_.load(bits, DType::i64, word, 1);
      f_.if_then(ir.CreateICmpNE(set, f_.i64(0)), [&] {
        Values so_far = {set};
        for (size_t v = 0; v < vectors_; ++v) so_far.push_back(vector_at(sums, DType::f32, f_.i64(0), v));
        llvm::Value* count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, set);
        so_far = f_.for_loop(f_.i64(0), count, f_.i64(1), so_far, [&](llvm::Value*, Values state) {
          llvm::Value* bit = ir.CreateIntrinsic(llvm::Intrinsic::cttz, {set->getType()}, {state[0], ir.getTrue()});
          llvm::Value* k = ir.CreateAdd(ir.CreateMul(word, f_.i64(kWord)), bit);
          state[0] = ir.CreateAnd(state[0], ir.CreateSub(state[0], f_.i64(1)));
          return add_element(k, f_.load(a, DType::f32, k, 1), std::move(state));
        });
        for (size_t v = 0; v < vectors_; ++v)
          f_.store(so_far[v + 1], sums, DType::f32, f_.i64(static_cast<int64_t>(v) * kLanes));
      });
    });
  }

 private:
  /// Adds element k, which is `a`, times its weights to the sums behind state[0].
  Values add_element(llvm::Value* k, llvm::Value* a, Values state) {
    llvm::IRBuilder<>& ir = f_.ir();
    const auto bits = static_cast<int>(packing_.bits);
    llvm::Value* line = ir.CreateUDiv(k, f_.i64(packing_.per_word()));
    llvm::Value* place = ir.CreateTrunc(ir.CreateURem(k, f_.i64(packing_.per_word())), ir.getInt32Ty());
    llvm::Value* above = ir.CreateSub(ir.getInt32(32 - bits), ir.CreateMul(place, ir.getInt32(bits)));
    llvm::Value* block = ir.CreateUDiv(k, f_.i64(packing_.block));
    for (size_t v = 0; v < vectors_; ++v) {
      llvm::Value* words = ir.CreateShl(vector_at(panel_.words, DType::i32, line, v), f_.splat(above, kLanes));
      llvm::Value* q =
          ir.CreateSIToFP(ir.CreateAShr(words, static_cast<uint64_t>(32 - bits)), f_.type(DType::f32, kLanes));
      llvm::Value* w = ir.CreateFMul(q, vector_at(panel_.scales, DType::f32, block, v));
      if (panel_.offsets) w = ir.CreateFSub(w, vector_at(panel_.offsets, DType::f32, block, v));
      state[v + 1] = multiply_add(f_.splat(a, kLanes), w, state[v + 1]);
    }
    return state;
  }

  const IntegerRowLayout layout_;
  BlockPanel panel_;
};

void emit_large_elements(FunctionBuilder& f, const MatMulKernel& matmul, int rows, const BlockPanel& panel,
                         llvm::Value* integers, const BlockTile& tile) {
  const BlockPacking& packing = *matmul.blocks;
  const int64_t columns = matmul.packed_columns;
  llvm::Type* pointer = f.ir().getPtrTy();
  llvm::Function* function = f.shared_function(
      "large_beside_integers." + name_of(packing) + "." + std::to_string(columns),
      {pointer, pointer, pointer, pointer, pointer, pointer}, [&](llvm::Function& body) {
        const BlockPanel its_panel = {body.getArg(0), body.getArg(1), packing.offsets ? body.getArg(2) : nullptr};
        LargeElements(f, packing, columns).emit(its_panel, body.getArg(3), body.getArg(4), body.getArg(5));
        f.ir().CreateRetVoid();
      });
  f.for_loop(f.i64(0), f.i64(rows), f.i64(1), [&](llvm::Value* r) {
    const auto at = [&](llvm::Value* base, DType type, llvm::Value* stride) {
      return f.element_address(base, type, f.ir().CreateMul(r, stride));
    };
    f.ir().CreateCall(function, {panel.words, panel.scales, panel.offsets ? panel.offsets : panel.scales,
                                 at(tile.a, DType::f32, tile.row_stride),
                                 at(integers, DType::i8, f.i64(IntegerRowLayout(packing).bytes())),
                                 at(tile.sums, DType::f32, f.i64(columns))});
  });
}

}  // namespace

bool multiplies_rows_as_integers(const CpuTarget& target, const MatMulKernel& matmul, int lanes) {
  const BlockPacking& p = *matmul.blocks;
  return target.has_vnni && lanes == kLanes && matmul.batch.empty() && matmul.a.column_stride.is(1) &&
         (p.blocks() == 1 || p.block % kLanes == 0);
}

int64_t integer_row_bytes(const MatMulKernel& matmul) { return IntegerRowLayout(*matmul.blocks).bytes(); }

void emit_integer_rows(FunctionBuilder& f, const MatMulKernel& matmul, llvm::Value* a, llvm::Value* row_stride,
                       llvm::Value* rows, llvm::Value* integers) {
  const BlockPacking& packing = *matmul.blocks;
  llvm::Type* pointer = f.ir().getPtrTy();
  llvm::Function* function =
      f.shared_function("integers." + name_of(packing), {pointer, pointer}, [&](llvm::Function& body) {
        emit_integer_row(f, packing, body.getArg(0), body.getArg(1));
        f.ir().CreateRetVoid();
      });
  f.for_loop(f.i64(0), rows, f.i64(1), [&](llvm::Value* r) {
    f.ir().CreateCall(function, {f.element_address(a, DType::f32, f.ir().CreateMul(r, row_stride)),
                                 at_byte(f, integers, f.ir().CreateMul(r, f.i64(IntegerRowLayout(packing).bytes())))});
  });
}

void emit_integer_tile(FunctionBuilder& f, const MatMulKernel& matmul, int lanes, int rows, const BlockPanel& panel,
                       llvm::Value* integers, const BlockTile& tile) {
  const BlockPacking& packing = *matmul.blocks;
  const int64_t columns = matmul.packed_columns;
  const int panel_vectors = static_cast<int>(columns) / lanes,
            vectors = vectors_together(f.target(), (packing.exact ? 4 : 3) * rows, panel_vectors);
  const std::string name = "blocks_by_integers." + name_of(packing) + "." + std::to_string(rows) + "x" +
                           std::to_string(vectors * lanes) + "of" + std::to_string(columns);
  llvm::Type* pointer = f.ir().getPtrTy();
  llvm::Function* function =
      f.shared_function(name, {pointer, pointer, pointer, pointer, pointer}, [&](llvm::Function& body) {
        const BlockPanel its_panel = {body.getArg(0), body.getArg(1), packing.offsets ? body.getArg(2) : nullptr};
        TileEmitter(f, packing, columns, rows, vectors).emit(its_panel, body.getArg(3), body.getArg(4));
        f.ir().CreateRetVoid();
      });
  for (int v = 0; v < panel_vectors; v += vectors) {
    const int64_t column = int64_t{v} * lanes;
    const BlockPanel part = from_column(f, panel, column);
    f.ir().CreateCall(function, {part.words, part.scales, part.offsets ? part.offsets : part.scales, integers,
                                 f.element_address(tile.sums, DType::f32, f.i64(column))});
  }
  if (packing.exact) emit_large_elements(f, matmul, rows, panel, integers, tile);
}

}  // namespace gcg::cpu
