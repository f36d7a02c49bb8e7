#include "codegen/cpu/contractions/block_integers.h"

#include <string>

#include "codegen/cpu/contractions/block_tile.h"
#include "codegen/cpu/contractions/dot_product.h"
#include "codegen/cpu/expressions/packed_bytes.h"

namespace gcg::cpu {
namespace {

using Values = FunctionBuilder::Values;

constexpr int kLanes = 16;
constexpr int64_t kLongestBlock =
    128;  // rows that share a scale of A: few enough for i32 sums, and to limit the effect of an outlier
constexpr double kLargest = 127 * 256;  // bound of the integers, so that the upper byte fits
constexpr float kLeast = 1e-30F;        // a block with smaller elements counts as zeros

/// The layout of a row of A as integers: upper bytes, lower bytes, and a scale and a sum of the integers for each
/// block. The bytes that are multiplied by those of one word are adjacent. Quad j of a word has elements j, j + e, j +
/// 2e, j + 3e of its rows, where e is the number of elements in a byte.
struct RowForm {
  explicit RowForm(const BlockPacking& packing) : packing_(packing) {
    const int64_t longest = packing.blocks() == 1 ? kLongestBlock : std::min(packing.block, kLongestBlock);
    block = longest;
    while (packing.blocks() > 1 && packing.block % block != 0) block -= kLanes;
    blocks = blocks_of(packing.rows, block);
    row = blocks_of(packing.rows, int64_t{64}) * 64;
    numbers = blocks_of(blocks, kLanes) * kLanes;
  }

  int64_t bytes() const { return 2 * row + 2 * numbers * 4; }
  int64_t lower() const { return row; }
  int64_t scales() const { return 2 * row; }
  int64_t sums() const { return 2 * row + numbers * 4; }
  int64_t quads() const { return 8 / packing_.bits; }
  /// The number of A's blocks per block of the weights.
  int64_t per_weights_block() const { return packing_.blocks() == 1 ? blocks : packing_.block / block; }

  int64_t block = 0, blocks = 0;  // rows of a block of A, and the number of its blocks
  int64_t row = 0;                // bytes of a part
  int64_t numbers = 0;            // scales, with room

 private:
  const BlockPacking& packing_;
};

llvm::Value* at_byte(FunctionBuilder& f, llvm::Value* base, llvm::Value* offset) {
  return f.element_address(base, DType::i8, offset);
}

/// Converts one row of A to its RowForm.
class RowEmitter {
 public:
  RowEmitter(FunctionBuilder& f, const BlockPacking& packing) : f_(f), packing_(packing), form_(packing) {}

  void emit(llvm::Value* a, llvm::Value* to) {
    a_ = a;
    to_ = to;
    const int64_t whole = packing_.rows / form_.block, rest = packing_.rows % form_.block;
    f_.for_loop(f_.i64(0), f_.i64(whole), f_.i64(1), [&](llvm::Value* block) { one_block(block, form_.block); });
    if (rest > 0) one_block(f_.i64(whole), rest);
  }

 private:
  llvm::Value* zero(DType type) { return llvm::Constant::getNullValue(f_.type(type, kLanes)); }

  llvm::Value* elements(llvm::Value* k) {
    llvm::Value* left = f_.ir().CreateSub(f_.i64(packing_.rows), k);
    return f_.load(a_, DType::f32, k, kLanes, packing_.rows % kLanes == 0 ? nullptr : f_.first_lanes(left, kLanes));
  }

  void one_block(llvm::Value* block, int64_t rows) {
    llvm::IRBuilder<>& ir = f_.ir();
    llvm::Value* first = ir.CreateMul(block, f_.i64(form_.block));
    llvm::Value *begin = f_.i64(0), *end = f_.i64(rows), *step = f_.i64(kLanes);
    // An element that is not finite makes a scale that is not.
    const Values seen =
        f_.for_loop(begin, end, step, {zero(DType::f32), zero(DType::f32)}, [&](llvm::Value* k, const Values& so_far) {
          llvm::Value* x = elements(ir.CreateAdd(first, k));
          llvm::Value* size = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
          llvm::Value* larger = ir.CreateSelect(ir.CreateFCmpOGT(size, so_far[0]), size, so_far[0]);
          return Values{larger, ir.CreateFAdd(ir.CreateFMul(x, zero(DType::f32)), so_far[1])};
        });
    llvm::Value* largest = ir.CreateFPMaxReduce(seen[0]);
    llvm::Value* nothing = ir.CreateFAddReduce(f_.f32(0), seen[1]);
    llvm::Value* is_small = ir.CreateFCmpOLT(largest, f_.f32(kLeast));
    llvm::Value* factor = ir.CreateSelect(is_small, f_.f32(0), ir.CreateFDiv(f_.f32(kLargest), largest));
    llvm::Value* scale = ir.CreateFAdd(ir.CreateFMul(largest, f_.f32(1 / kLargest)), nothing);
    const Values sums = f_.for_loop(begin, end, step, {zero(DType::i32)}, [&](llvm::Value* k, const Values& so_far) {
      llvm::Value* place = ir.CreateAdd(first, k);
      llvm::Value* scaled = ir.CreateFMul(elements(place), f_.splat(factor, kLanes));
      llvm::Value* x = emit_nearest(f_, scaled);
      llvm::Value* upper = ir.CreateAShr(ir.CreateAdd(x, llvm::ConstantInt::get(x->getType(), 128)), 8);
      store(upper, place);
      store(ir.CreateSub(x, ir.CreateShl(upper, 8)), ir.CreateAdd(place, f_.i64(form_.lower())));
      return Values{ir.CreateAdd(so_far[0], x)};
    });
    llvm::Value* sum = ir.CreateSIToFP(ir.CreateAddReduce(sums[0]), ir.getFloatTy());
    f_.store(scale, at_byte(f_, to_, f_.i64(form_.scales())), DType::f32, block);
    f_.store(sum, at_byte(f_, to_, f_.i64(form_.sums())), DType::f32, block);
  }

  /// Stores the lowest bytes of 16 elements, in the order of quads.
  void store(llvm::Value* words, llvm::Value* place) {
    llvm::IRBuilder<>& ir = f_.ir();
    llvm::Value* bytes = ir.CreateTrunc(words, llvm::FixedVectorType::get(ir.getInt8Ty(), kLanes));
    const int64_t quads = form_.quads(), word = 4 * quads;
    std::vector<int> order;
    for (int64_t i = 0; i < kLanes; ++i) {
      const int64_t in_word = i % word;
      order.push_back(static_cast<int>(i - in_word + in_word % 4 * quads + in_word / 4));
    }
    ir.CreateAlignedStore(ir.CreateShuffleVector(bytes, order), at_byte(f_, to_, place), llvm::Align(1));
  }

  FunctionBuilder& f_;
  const BlockPacking& packing_;
  const RowForm form_;
  llvm::Value* a_ = nullptr;
  llvm::Value* to_ = nullptr;
};

/// The body of a function that multiplies `rows` rows of integers by `vectors` vectors of columns.
class TileEmitter : PanelTile {
 public:
  TileEmitter(FunctionBuilder& f, const BlockPacking& packing, int64_t columns, int rows, int vectors)
      : PanelTile(f, packing, columns, kLanes, rows, vectors), form_(packing), dot_(f.ir(), Multiply::quads) {}

  void emit(const BlockPanel& panel, llvm::Value* integers, llvm::Value* sums) {
    panel_ = panel;
    integers_ = integers;
    add_blocks(form_.block, sums, [this](llvm::Value* block, int64_t rows, Values totals) {
      return add_block(block, rows, std::move(totals));
    });
  }

 private:
  llvm::Value* row(size_t r, int64_t part) {
    return at_byte(f_, integers_, f_.i64(static_cast<int64_t>(r) * form_.bytes() + part));
  }
  /// totals + (sums of `rows` rows of a block of A) * both scales - (sums of A) * offsets.
  Values add_block(llvm::Value* block, int64_t rows, Values totals) {
    llvm::IRBuilder<>& ir = f_.ir();
    const size_t tile = rows_ * vectors_;
    llvm::Value* first = ir.CreateMul(block, f_.i64(form_.block / packing_.per_word()));
    const Values sums = f_.for_loop(
        f_.i64(0), f_.i64(blocks_of(rows, packing_.per_word())), f_.i64(1), zeros(DType::i32, 2 * tile),
        [&](llvm::Value* word, const Values& so_far) { return add_word(ir.CreateAdd(first, word), so_far); });
    llvm::Value* of_weights = ir.CreateSDiv(block, f_.i64(form_.per_weights_block()));
    std::vector<llvm::Value*> scales, above, offset;  // one per row
    for (size_t r = 0; r < rows_; ++r) {
      llvm::Value* scale = f_.load(row(r, form_.scales()), DType::f32, block, 1);
      llvm::Value* sum = f_.load(row(r, form_.sums()), DType::f32, block, 1);
      // The weights' integers are multiplied as unsigned ones, which are larger by `middle`.
      const double middle = static_cast<double>(int64_t{1} << (packing_.bits - 1));
      scales.push_back(f_.splat(scale, kLanes));
      above.push_back(f_.splat(ir.CreateFMul(sum, f_.f32(-middle)), kLanes));
      if (panel_.offsets) offset.push_back(f_.splat(ir.CreateFMul(ir.CreateFNeg(sum), scale), kLanes));
    }
    for (size_t v = 0; v < vectors_; ++v) {
      llvm::Value* w_scales = vector_at(panel_.scales, DType::f32, of_weights, v);
      llvm::Value* w_offsets = panel_.offsets ? vector_at(panel_.offsets, DType::f32, of_weights, v) : nullptr;
      for (size_t r = 0; r < rows_; ++r) {
        const size_t i = r * vectors_ + v;
        const auto as_float = [&](llvm::Value* x) { return ir.CreateSIToFP(x, f_.type(DType::f32, kLanes)); };
        llvm::Value* lower = ir.CreateFAdd(as_float(sums[tile + i]), above[r]);
        llvm::Value* sum = multiply_add(as_float(sums[i]), f_.splat(f_.f32(256), kLanes), lower);
        totals[i] = multiply_add(ir.CreateFMul(sum, scales[r]), w_scales, totals[i]);
        if (w_offsets) totals[i] = multiply_add(offset[r], w_offsets, totals[i]);
      }
    }
    return totals;
  }

  /// Adds one line of words. The sums of upper bytes come first, then those of lower bytes.
  Values add_word(llvm::Value* line, Values sums) {
    llvm::IRBuilder<>& ir = f_.ir();
    const size_t tile = rows_ * vectors_;
    Values words;
    for (size_t v = 0; v < vectors_; ++v) words.push_back(vector_at(panel_.words, DType::i32, line, v));
    const uint64_t each_byte = 0x01010101, signs = each_byte << (packing_.bits - 1),
                   mask = each_byte * ((uint64_t{1} << packing_.bits) - 1);
    for (int64_t quad = 0; quad < form_.quads(); ++quad) {
      Values q;
      for (llvm::Value* word : words) {
        llvm::Value* low = ir.CreateXor(ir.CreateLShr(word, static_cast<uint64_t>(quad * packing_.bits)), signs);
        q.push_back(packing_.bits == 8 ? low : ir.CreateAnd(low, mask));
      }
      llvm::Value* place = ir.CreateAdd(ir.CreateMul(line, f_.i64(form_.quads())), f_.i64(quad));
      for (size_t r = 0; r < rows_; ++r)
        for (const size_t part : {size_t{0}, size_t{1}}) {
          llvm::Value* bytes = f_.load(row(r, part == 0 ? 0 : form_.lower()), DType::i32, place, 1);
          for (size_t v = 0; v < vectors_; ++v) {
            llvm::Value*& sum = sums[part * tile + r * vectors_ + v];
            sum = dot_.add(q[v], f_.splat(bytes, kLanes), sum);
          }
        }
    }
    return sums;
  }

  const RowForm form_;
  DotProduct dot_;
  BlockPanel panel_;
  llvm::Value* integers_ = nullptr;
};

}  // namespace

bool multiplies_rows_as_integers(const CpuTarget& target, const MatMulKernel& matmul, int lanes) {
  const BlockPacking& p = *matmul.blocks;
  return target.has_vnni && lanes == kLanes && matmul.batch.empty() && matmul.a.column_stride.is(1) &&
         (p.blocks() == 1 || p.block % kLanes == 0);
}

int64_t integer_row_bytes(const MatMulKernel& matmul) { return RowForm(*matmul.blocks).bytes(); }

void emit_integer_rows(FunctionBuilder& f, const MatMulKernel& matmul, llvm::Value* a, llvm::Value* row_stride,
                       llvm::Value* rows, llvm::Value* integers) {
  const BlockPacking& packing = *matmul.blocks;
  llvm::Type* pointer = f.ir().getPtrTy();
  llvm::Function* function =
      f.shared_function("integers." + name_of(packing), {pointer, pointer}, [&](llvm::Function& body) {
        RowEmitter(f, packing).emit(body.getArg(0), body.getArg(1));
        f.ir().CreateRetVoid();
      });
  f.for_loop(f.i64(0), rows, f.i64(1), [&](llvm::Value* r) {
    f.ir().CreateCall(function, {f.element_address(a, DType::f32, f.ir().CreateMul(r, row_stride)),
                                 at_byte(f, integers, f.ir().CreateMul(r, f.i64(RowForm(packing).bytes())))});
  });
}

void emit_integer_tile(FunctionBuilder& f, const MatMulKernel& matmul, int lanes, int rows, const BlockPanel& panel,
                       llvm::Value* integers, llvm::Value* sums) {
  const BlockPacking& packing = *matmul.blocks;
  const int64_t columns = matmul.packed_columns;
  const int panel_vectors = static_cast<int>(columns) / lanes,
            vectors = vectors_together(f.target(), 3 * rows, panel_vectors);
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
                                 f.element_address(sums, DType::f32, f.i64(column))});
  }
}

}  // namespace gcg::cpu
