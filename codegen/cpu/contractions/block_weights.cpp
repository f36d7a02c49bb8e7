#include "codegen/cpu/contractions/block_weights.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <string>

#include "codegen/cpu/contractions/block_tile.h"
#include "codegen/cpu/contractions/microkernel.h"

namespace gcg::cpu {
namespace {

/// Extracts integers from words, as floats.
class Decoder {
 public:
  Decoder(FunctionBuilder& f, const BlockPacking& packing, int lanes) : f_(f), packing_(packing), lanes_(lanes) {
    if (!looks_up()) return;
    std::vector<llvm::Constant*> table;
    for (int64_t i = 0; i < 16; ++i) {
      const int64_t value = i & ((int64_t{1} << packing.bits) - 1), sign = int64_t{1} << (packing.bits - 1);
      table.push_back(f.f32(static_cast<double>((value ^ sign) - sign)));
    }
    table_ = llvm::ConstantVector::get(table);
  }

  /// Returns the integer of row `row` from each word; it begins at bit `row * bits` of the word.
  llvm::Value* operator()(llvm::Value* words, int64_t row) {
    llvm::IRBuilder<>& ir = f_.ir();
    if (looks_up()) {
      llvm::Value* places = ir.CreateLShr(words, static_cast<uint64_t>(row * packing_.bits));
      return ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {table_, places});
    }
    const int64_t above = 32 - (row + 1) * packing_.bits;
    llvm::Value* q =
        ir.CreateAShr(ir.CreateShl(words, static_cast<uint64_t>(above)), static_cast<uint64_t>(32 - packing_.bits));
    return ir.CreateSIToFP(q, f_.type(DType::f32, lanes_));
  }

 private:
  /// True if integers are converted by a table. VPERMPS reads the lowest four bits of each index, so that this takes
  /// one instruction instead of three.
  bool looks_up() const { return lanes_ == 16 && f_.target().has_avx512() && packing_.bits <= 4; }

  FunctionBuilder& f_;
  const BlockPacking& packing_;
  int lanes_;
  llvm::Value* table_ = nullptr;
};

/// The body of a function that multiplies `rows` rows of A by `vectors` vectors of columns.
class TileEmitter : PanelTile {
 public:
  TileEmitter(FunctionBuilder& f, const BlockPacking& packing, int64_t columns, int lanes, int rows, int vectors)
      : PanelTile(f, packing, columns, lanes, rows, vectors), decode_(f, packing, lanes) {}

  void emit(const BlockPanel& panel, const BlockTile& tile) {
    panel_ = panel;
    tile_ = tile;
    add_blocks(packing_.block, tile.sums, [this](llvm::Value* block, int64_t rows, Values totals) {
      return add_block(block, rows, std::move(totals));
    });
  }

 private:
  /// True if each element of A is multiplied by a complete weight, offset included. Otherwise a weight of 0 times a
  /// very large element would leave the rounding error of (sum of A) * offset.
  bool whole_weights() const { return packing_.exact && panel_.offsets != nullptr; }

  /// Returns totals + (sums of `rows` rows of a block) * scales - (sums of A) * offsets.
  Values add_block(llvm::Value* block, int64_t rows, Values totals) {
    llvm::IRBuilder<>& ir = f_.ir();
    scales_.clear();
    offsets_.clear();
    for (size_t v = 0; v < vectors_ && whole_weights(); ++v) {
      scales_.push_back(vector_at(panel_.scales, DType::f32, block, v));
      offsets_.push_back(vector_at(panel_.offsets, DType::f32, block, v));
    }
    llvm::Value* first = ir.CreateMul(block, f_.i64(packing_.block));
    llvm::Value* first_word = ir.CreateMul(block, f_.i64(packing_.words_of_block()));
    const int64_t words = rows / packing_.per_word(), left = rows % packing_.per_word();
    Values sums = f_.for_loop(f_.i64(0), f_.i64(words), f_.i64(1),
                              zeros(DType::f32, rows_ * vectors_ + (panel_.offsets ? rows_ : 0)),
                              [&](llvm::Value* word, const Values& so_far) {
                                llvm::Value* k = ir.CreateAdd(first, ir.CreateMul(word, f_.i64(packing_.per_word())));
                                return add_words(ir.CreateAdd(first_word, word), k, packing_.per_word(), so_far);
                              });
    if (left > 0) {
      llvm::Value* k = ir.CreateAdd(first, f_.i64(words * packing_.per_word()));
      sums = add_words(ir.CreateAdd(first_word, f_.i64(words)), k, left, sums);
    }
    if (whole_weights()) {
      for (size_t i = 0; i < rows_ * vectors_; ++i) totals[i] = ir.CreateFAdd(totals[i], sums[i]);
      return totals;
    }
    for (size_t v = 0; v < vectors_; ++v) {
      llvm::Value* scales = vector_at(panel_.scales, DType::f32, block, v);
      llvm::Value* offsets = panel_.offsets ? vector_at(panel_.offsets, DType::f32, block, v) : nullptr;
      for (size_t r = 0; r < rows_; ++r) {
        llvm::Value*& total = totals[r * vectors_ + v];
        total = multiply_add(sums[r * vectors_ + v], scales, total);
        if (offsets) total = multiply_add(ir.CreateFNeg(sums[rows_ * vectors_ + r]), offsets, total);
      }
    }
    return totals;
  }

  /// Adds one line of words: `count` rows from k on. If there are offsets, the sums of A's elements come after those of
  /// the products.
  Values add_words(llvm::Value* line, llvm::Value* k, int64_t count, Values sums) {
    llvm::IRBuilder<>& ir = f_.ir();
    Values words;
    for (size_t v = 0; v < vectors_; ++v) words.push_back(vector_at(panel_.words, DType::i32, line, v));
    for (int64_t row = 0; row < count; ++row) {
      Values a;
      for (size_t r = 0; r < rows_; ++r) {
        llvm::Value* place = ir.CreateMul(ir.CreateAdd(k, f_.i64(row)), tile_.column_stride);
        place = ir.CreateAdd(place, ir.CreateMul(f_.i64(static_cast<int64_t>(r)), tile_.row_stride));
        a.push_back(f_.splat(f_.load(tile_.a, DType::f32, place, 1), lanes_));
      }
      for (size_t v = 0; v < vectors_; ++v) {
        llvm::Value* q = decode_(words[v], row);
        if (whole_weights()) q = ir.CreateFSub(ir.CreateFMul(q, scales_[v]), offsets_[v]);
        for (size_t r = 0; r < rows_; ++r) {
          llvm::Value*& sum = sums[r * vectors_ + v];
          sum = multiply_add(a[r], q, sum);
        }
      }
      for (size_t r = 0; panel_.offsets && !whole_weights() && r < rows_; ++r)
        sums[rows_ * vectors_ + r] = ir.CreateFAdd(sums[rows_ * vectors_ + r], a[r]);
    }
    return sums;
  }

  Decoder decode_;
  BlockPanel panel_;
  BlockTile tile_;
  Values scales_, offsets_;  // scales and offsets of the block, if whole weights are multiplied
};

}  // namespace

BlockPanel from_column(FunctionBuilder& f, const BlockPanel& panel, int64_t column) {
  const auto at = [&](llvm::Value* base, DType type) {
    return base ? f.element_address(base, type, f.i64(column)) : nullptr;
  };
  return {at(panel.words, DType::i32), at(panel.scales, DType::f32), at(panel.offsets, DType::f32)};
}

BlockPanel block_panel(FunctionBuilder& f, const MatMulKernel& matmul, llvm::Value* panel) {
  const auto at = [&](int operand, DType type, int64_t lines) -> llvm::Value* {
    if (operand < 0) return nullptr;
    llvm::Value* before = f.ir().CreateMul(panel, f.i64(lines * matmul.packed_columns));
    return f.element_address(f.operand(operand), type, before);
  };
  const BlockPacking& p = *matmul.blocks;
  return {at(matmul.b.operand, DType::i32, p.words()), at(matmul.scales, DType::f32, p.blocks()),
          at(matmul.offsets, DType::f32, p.blocks())};
}

void emit_block_tile(FunctionBuilder& f, const MatMulKernel& matmul, int lanes, int rows, const BlockPanel& panel,
                     const BlockTile& tile) {
  const BlockPacking& packing = *matmul.blocks;
  const int64_t columns = matmul.packed_columns;
  const int panel_vectors = static_cast<int>(columns) / lanes;
  const int vectors = vectors_together(f.target(), 2 * rows, panel_vectors);
  const std::optional<int64_t> row_stride = constant_of(tile.row_stride),
                               column_stride = constant_of(tile.column_stride);
  const std::string name = "blocks." + name_of(packing) + "." + std::to_string(rows) + "x" +
                           std::to_string(vectors * lanes) + "of" + std::to_string(columns) + ".a" +
                           name_of_stride(row_stride) + "_" + name_of_stride(column_stride);
  llvm::Type *pointer = f.ir().getPtrTy(), *i64 = f.ir().getInt64Ty();
  llvm::Function* function =
      f.shared_function(name, {pointer, pointer, pointer, pointer, pointer, i64, i64}, [&](llvm::Function& body) {
        const auto stride = [&](const std::optional<int64_t>& constant, unsigned i) -> llvm::Value* {
          return constant ? static_cast<llvm::Value*>(f.i64(*constant)) : body.getArg(i);
        };
        const BlockPanel its_panel = {body.getArg(0), body.getArg(1), packing.offsets ? body.getArg(2) : nullptr};
        TileEmitter(f, packing, columns, lanes, rows, vectors)
            .emit(its_panel, {body.getArg(3), stride(row_stride, 5), stride(column_stride, 6), body.getArg(4)});
        f.ir().CreateRetVoid();
      });
  for (int v = 0; v < panel_vectors; v += vectors) {
    const int64_t column = int64_t{v} * lanes;
    const BlockPanel part = from_column(f, panel, column);
    f.ir().CreateCall(function,
                      {part.words, part.scales, part.offsets ? part.offsets : part.scales, tile.a,
                       f.element_address(tile.sums, DType::f32, f.i64(column)), tile.row_stride, tile.column_stride});
  }
}

void emit_unpack_panel(FunctionBuilder& f, const MatMulKernel& matmul, int lanes, const BlockPanel& panel,
                       llvm::Value* first, llvm::Value* rows, llvm::Value* wide) {
  const BlockPacking& packing = *matmul.blocks;
  const int64_t columns = matmul.packed_columns;
  const std::string name = "unpack." + name_of(packing) + "." + std::to_string(columns) + "by" + std::to_string(lanes);
  llvm::Type *pointer = f.ir().getPtrTy(), *i64 = f.ir().getInt64Ty();
  llvm::Function* function =
      f.shared_function(name, {pointer, pointer, pointer, pointer, i64}, [&](llvm::Function& body) {
        llvm::IRBuilder<>& ir = f.ir();
        Decoder decode(f, packing, lanes);
        llvm::Value *all = body.getArg(4), *block_rows = f.i64(packing.block);
        llvm::Value* blocks = ir.CreateSDiv(ir.CreateAdd(all, f.i64(packing.block - 1)), block_rows);
        f.for_loop(f.i64(0), blocks, f.i64(1), [&](llvm::Value* block) {
          llvm::Value* before = ir.CreateMul(block, block_rows);
          llvm::Value* left = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir.CreateSub(all, before), block_rows);
          llvm::Value* words =
              ir.CreateSDiv(ir.CreateAdd(left, f.i64(packing.per_word() - 1)), f.i64(packing.per_word()));
          for (int64_t column = 0; column < columns; column += lanes) {
            const auto of_block = [&](llvm::Value* base) {
              return f.load(base, DType::f32, ir.CreateAdd(ir.CreateMul(block, f.i64(columns)), f.i64(column)), lanes);
            };
            llvm::Value* scales = of_block(body.getArg(1));
            llvm::Value* offsets = packing.offsets ? ir.CreateFNeg(of_block(body.getArg(2))) : nullptr;
            f.for_loop(f.i64(0), words, f.i64(1), [&](llvm::Value* word) {
              llvm::Value* line = ir.CreateAdd(ir.CreateMul(block, f.i64(packing.words_of_block())), word);
              llvm::Value* bits = f.load(body.getArg(0), DType::i32,
                                         ir.CreateAdd(ir.CreateMul(line, f.i64(columns)), f.i64(column)), lanes);
              llvm::Value* row = ir.CreateAdd(before, ir.CreateMul(word, f.i64(packing.per_word())));
              for (int64_t i = 0; i < packing.per_word(); ++i) {
                llvm::Value* q = decode(bits, i);
                llvm::Value* w = offsets
                                     ? ir.CreateIntrinsic(llvm::Intrinsic::fma, {q->getType()}, {q, scales, offsets})
                                     : ir.CreateFMul(q, scales);
                llvm::Value* place = ir.CreateMul(ir.CreateAdd(row, f.i64(i)), f.i64(columns));
                f.store(w, body.getArg(3), DType::f32, ir.CreateAdd(place, f.i64(column)));
              }
            });
          }
        });
        ir.CreateRetVoid();
      });
  llvm::IRBuilder<>& ir = f.ir();
  const auto further = [&](llvm::Value* base, DType type, llvm::Value* lines) {
    return base ? f.element_address(base, type, ir.CreateMul(lines, f.i64(columns))) : nullptr;
  };
  llvm::Value* block = ir.CreateSDiv(first, f.i64(packing.block));
  llvm::Value* scales = further(panel.scales, DType::f32, block);
  llvm::Value* offsets = further(panel.offsets, DType::f32, block);
  llvm::Value* words = further(panel.words, DType::i32, ir.CreateMul(block, f.i64(packing.words_of_block())));
  ir.CreateCall(function, {words, scales, offsets ? offsets : scales, wide, rows});
}

}  // namespace gcg::cpu
