#include "codegen/cpu/contractions/tile_kernel.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/cpu/contractions/emit_cases.h"
#include "codegen/cpu/contractions/microkernel.h"
#include "compiler/kernel/machine.h"

namespace gcg::cpu {
namespace {

using llvm::Value;

constexpr int64_t block = TileKernel::block, word_bytes = 4, prefetch_period = MicroKernel::prefetch_period;
constexpr int64_t row_bytes = block * word_bytes;
// Offsets in the configuration (palette 1): for each tile, two bytes with the bytes of its rows, and a byte with the
// number of rows.
constexpr int64_t columns_at = 16, rows_at = 48;
// Tiles 0 to 5 are sums, 6 is a tile of A and 7 one of B; the CPU renames them.
constexpr int tile_a = 6, tile_b = 7;
constexpr int64_t each_height = 0x0001010101010101, height_of_b = block << 56, each_row = 0x0040004000400040;
enum Argument : unsigned { kA, kARow, kB, kLastB, kK, kC, kSecond, kPrefetch, kPrefetchLines, kPrefetchMask };

/// Emits the body of one AMX function, for `blocks` tiles of rows.
class TileKernelEmitter {
 public:
  TileKernelEmitter(const TileKernel& kernel, int blocks, llvm::Function& function)
      : kernel_(kernel), blocks_(blocks), f_(function), ir_(function.getContext()) {}

  void emit() {
    ir_.SetInsertPoint(&f_.getEntryBlock());
    each_sum([&](int t, Value* at) { kernel_.accumulate ? load(t, at, columns()) : zero(t); });
    Value* k = f_.getArg(kK);
    Value* whole_depth = ir_.CreateAnd(k, i64(-block));
    loop(i64(0), whole_depth, block, [&](Value* at) {
      step(at, bytes_from(f_.getArg(kB), ir_.CreateMul(at, columns())));
      fetch(at);
    });
    loop(whole_depth, k, block, [&](Value* at) { step(at, f_.getArg(kLastB)); });
    each_sum([&](int t, Value* at) { call(llvm::Intrinsic::x86_tilestored64, {tile(t), at, columns()}); });
    ir_.CreateRetVoid();
  }

 private:
  llvm::ConstantInt* i64(int64_t value) { return llvm::ConstantInt::getSigned(ir_.getInt64Ty(), value); }
  Value* tile(int number) { return ir_.getInt8(static_cast<uint8_t>(number)); }
  Value* columns() { return i64(kernel_.columns * word_bytes); }
  Value* bytes_from(Value* base, Value* offset) { return ir_.CreateGEP(ir_.getInt8Ty(), base, offset); }
  void call(llvm::Intrinsic::ID id, const std::vector<Value*>& arguments) { ir_.CreateIntrinsic(id, {}, arguments); }
  void load(int t, Value* from, Value* stride) { call(llvm::Intrinsic::x86_tileloadd64, {tile(t), from, stride}); }
  void zero(int t) { call(llvm::Intrinsic::x86_tilezero, {tile(t)}); }

  int sum(int i, int v) const { return i * kernel_.vectors + v; }
  Value* first_row(int i) {
    if (i == 0) return i64(0);
    return f_.getArg(kSecond);
  }

  void each_sum(const std::function<void(int, Value*)>& body) {
    for (int i = 0; i < blocks_; ++i) {
      Value* row = bytes_from(f_.getArg(kC), ir_.CreateMul(first_row(i), columns()));
      for (int v = 0; v < kernel_.vectors; ++v) body(sum(i, v), bytes_from(row, i64(v * row_bytes)));
    }
  }

  /// Emits one k step. Steps alternate in direction, so the tile of B where the direction changes is loaded once.
  void step(Value* k, Value* b) {
    Value* a = bytes_from(f_.getArg(kA), ir_.CreateMul(k, i64(word_bytes)));
    const auto dot =
        kernel_.multiply == Multiply::bytes ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbf16ps;
    for (int i = 0; i < blocks_; ++i) {
      load(tile_a, bytes_from(a, ir_.CreateMul(first_row(i), f_.getArg(kARow))), f_.getArg(kARow));
      for (int n = 0; n < kernel_.vectors; ++n) {
        const int v = i == 0 ? n : kernel_.vectors - 1 - n;
        if (i == 0 || n > 0) load(tile_b, bytes_from(b, i64(v * row_bytes)), columns());
        call(dot, {tile(sum(i, v)), tile(tile_a), tile(tile_b)});
      }
    }
  }

  /// Prefetches the share of one step, which is four periods of a MicroKernel.
  void fetch(Value* k) {
    Value* lines = ir_.CreateMul(f_.getArg(kPrefetchLines), i64(block / prefetch_period));
    lines = ir_.CreateSelect(ir_.CreateICmpSLT(f_.getArg(kPrefetchMask), i64(0)), i64(0), lines);
    Value* per_word = ir_.CreateMul(f_.getArg(kPrefetchLines), i64(kCacheLine / prefetch_period));
    Value* first = bytes_from(f_.getArg(kPrefetch), ir_.CreateMul(k, per_word));
    loop(i64(0), lines, 1, [&](Value* line) {
      Value* place = bytes_from(first, ir_.CreateMul(line, i64(kCacheLine)));
      ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {place->getType()},
                          {place, ir_.getInt32(0), ir_.getInt32(2), ir_.getInt32(1)});
    });
  }

  llvm::BasicBlock* new_block(const char* name) { return llvm::BasicBlock::Create(f_.getContext(), name, &f_); }

  /// Emits for (i = begin; i < end; i += step).
  void loop(Value* begin, Value* end, int64_t step, const std::function<void(Value*)>& body) {
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* head = new_block("loop");
    llvm::BasicBlock* done = new_block("loop.done");
    ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), head, done);
    ir_.SetInsertPoint(head);
    llvm::PHINode* i = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    i->addIncoming(begin, before);
    body(i);
    Value* next = ir_.CreateAdd(i, i64(step), "", true, true);
    i->addIncoming(next, ir_.GetInsertBlock());
    ir_.CreateCondBr(ir_.CreateICmpSLT(next, end), head, done);
    ir_.SetInsertPoint(done);
  }

  const TileKernel& kernel_;
  const int blocks_;
  llvm::Function& f_;
  llvm::IRBuilder<> ir_;
};

llvm::Function* tile_kernel(const TileKernel& kernel, int blocks, FunctionBuilder& f) {
  llvm::Type *pointer = f.ir().getPtrTy(), *i64 = f.ir().getInt64Ty();
  const std::string name = concat("tiles.", kernel.multiply == Multiply::bytes ? "quads." : "pairs.", blocks, "x",
                                  kernel.vectors, ".", kernel.columns, kernel.accumulate ? ".add" : "");
  return f.shared_function(name, {pointer, i64, pointer, pointer, i64, pointer, i64, pointer, i64, i64},
                           [&](llvm::Function& function) { TileKernelEmitter(kernel, blocks, function).emit(); });
}

}  // namespace

void TileState::begin() {
  llvm::IRBuilder<>& ir = f_.ir();
  memory_ = f_.take_memory(TileKernel::state_bytes);
  auto* words = llvm::FixedVectorType::get(ir.getInt64Ty(), TileKernel::state_bytes / 8);
  ir.CreateAlignedStore(llvm::Constant::getNullValue(words), memory_, llvm::Align(64));
  ir.CreateStore(ir.getInt8(1), memory_);  // the palette
  for (const int64_t tiles : {0, 8})
    ir.CreateStore(f_.i64(each_row), f_.element_address(memory_, DType::u8, f_.i64(columns_at + tiles)));
}

void TileState::set_rows(Value* most) {
  llvm::IRBuilder<>& ir = f_.ir();
  blocks_ = ir.CreateSelect(ir.CreateICmpSGT(most, f_.i64(block)), f_.i64(2), f_.i64(1));
  height_ = ir.CreateUDiv(ir.CreateAdd(most, ir.CreateSub(blocks_, f_.i64(1))), blocks_);
  Value* heights = ir.CreateAdd(ir.CreateMul(height_, f_.i64(each_height)), f_.i64(height_of_b));
  Value* place = f_.element_address(memory_, DType::u8, f_.i64(rows_at));
  f_.if_then(ir.CreateICmpNE(ir.CreateLoad(ir.getInt64Ty(), place), heights), [&] {
    ir.CreateStore(heights, place);
    ir.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {memory_});
  });
}

void TileState::release() {
  f_.ir().CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
  f_.give_memory(memory_);
}

void TileState::multiply(const TileKernel& kernel, const TileOperands& t) {
  llvm::IRBuilder<>& ir = f_.ir();
  const auto call = [&](int blocks) {
    Value* last_b = t.last_b ? t.last_b : t.b;
    ir.CreateCall(tile_kernel(kernel, blocks, f_),
                  {t.a, t.a_row_stride, t.b, last_b, t.k, t.c, ir.CreateSub(t.rows, height_), t.prefetch,
                   t.prefetch_lines, t.prefetch_mask});
  };
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(blocks_))
    return call(static_cast<int>(known->getSExtValue()));
  emit_cases(f_, blocks_, {1, 2}, call);
}

void emit_last_rows(FunctionBuilder& f, Value* from, Value* count, int64_t columns, Value* to) {
  llvm::IRBuilder<>& ir = f.ir();
  const auto rows = [&](Value* begin, Value* end, bool exist) {
    f.for_loop(begin, end, f.i64(1), [&](Value* row) {
      for (int64_t column = 0; column < columns; column += block) {
        Value* place = ir.CreateAdd(ir.CreateMul(row, f.i64(columns)), f.i64(column));
        Value* zeros = llvm::Constant::getNullValue(f.type(DType::i32, block));
        f.store(exist ? f.load(from, DType::i32, place, block) : zeros, to, DType::i32, place);
      }
    });
  };
  rows(f.i64(0), count, true);
  rows(count, f.i64(block), false);
}

}  // namespace gcg::cpu
