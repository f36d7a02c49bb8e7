#include "codegen/cpu/contractions/tile_kernel.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/cpu/contractions/emit_cases.h"
#include "codegen/cpu/contractions/microkernel.h"
#include "compiler/kernel/machine.h"

namespace gcg::cpu {
namespace {

using llvm::Value;

constexpr int64_t block = TileKernel::block, word_bytes = 4, prefetch_period = MicroKernel::prefetch_period;
// Of the configuration (palette 1): two bytes of columns per tile, a byte of rows.
constexpr int64_t columns_at = 16, rows_at = 48;
// Tiles 0 to 2 are sums, 3 to 5 rows of A, 6 and 7 rows of B, in turn.
constexpr int first_a = 3, first_b = 6;
enum Argument : unsigned { kState, kA, kARow, kB, kK, kC, kRows, kPrefetch, kPrefetchLines, kPrefetchMask };

/// Emits the body of one function of tiles, for `blocks` tiles of rows.
class TileKernelEmitter {
 public:
  TileKernelEmitter(const TileKernel& kernel, int blocks, llvm::Function& function)
      : kernel_(kernel), blocks_(blocks), f_(function), ir_(function.getContext()) {}

  void emit() {
    ir_.SetInsertPoint(&f_.getEntryBlock());
    rows_ = f_.getArg(kRows);
    height_ = ir_.CreateUDiv(ir_.CreateAdd(rows_, i64(blocks_ - 1)), i64(blocks_));
    configure(i64(block));
    each_block([&](int i) { kernel_.accumulate ? load(i, sums(i), columns()) : zero(i); });
    Value* k = f_.getArg(kK);
    Value* pairs = ir_.CreateAnd(k, i64(-2 * block));
    loop(i64(0), pairs, 2 * block, [&](Value* at) {
      step(at, first_b);
      step(ir_.CreateAdd(at, i64(block)), first_b + 1);
    });
    Value* whole = ir_.CreateAnd(k, i64(-block));
    loop(pairs, whole, block, [&](Value* at) { step(at, first_b); });
    store_sums();
    if (kernel_.multiply == Multiply::quads) rest(whole, k);
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

  /// Makes A's rows and B `depth` words deep, and the sums and A as high as a tile is here, unless they are.
  void configure(Value* depth) {
    llvm::BasicBlock* change = new_block("configure");
    llvm::BasicBlock* done = new_block("configured");
    const auto place = [&](int64_t offset) { return bytes_from(f_.getArg(kState), i64(offset)); };
    const auto store = [&](Value* value, int64_t offset) {
      ir_.CreateAlignedStore(value, place(offset), llvm::Align(8));
    };
    Value* heights =
        ir_.CreateAdd(ir_.CreateMul(height_, i64(0x0000010101010101)), ir_.CreateMul(depth, i64(0x0101000000000000)));
    Value* known = ir_.CreateAlignedLoad(ir_.getInt64Ty(), place(rows_at), llvm::Align(8));
    ir_.CreateCondBr(ir_.CreateICmpEQ(known, heights), done, change);
    ir_.SetInsertPoint(change);
    store(heights, rows_at);
    Value* bytes = ir_.CreateMul(depth, i64(word_bytes));
    store(ir_.CreateAdd(ir_.CreateMul(bytes, i64(0x0001000000000000)), i64(0x0000004000400040)), columns_at);
    store(ir_.CreateAdd(ir_.CreateMul(bytes, i64(0x0000000000010001)), i64(0x0040004000000000)), columns_at + 8);
    call(llvm::Intrinsic::x86_ldtilecfg, {f_.getArg(kState)});
    ir_.CreateBr(done);
    ir_.SetInsertPoint(done);
  }

  void each_block(const std::function<void(int)>& body) {
    for (int i = 0; i < blocks_; ++i) body(i);
  }

  /// The first row of a tile: the last one ends where the rows do, and may share some with the one before it.
  Value* first_row(int i) {
    if (i == 0) return i64(0);
    return i + 1 < blocks_ ? ir_.CreateMul(height_, i64(i)) : ir_.CreateSub(rows_, height_);
  }
  Value* sums(int i) { return bytes_from(f_.getArg(kC), ir_.CreateMul(first_row(i), columns())); }

  /// One k step: row by row of tiles, so that a sum is used again after all others.
  void step(Value* k, int b) {
    load(b, bytes_from(f_.getArg(kB), ir_.CreateMul(k, columns())), columns());
    Value* a = bytes_from(f_.getArg(kA), ir_.CreateMul(k, i64(word_bytes)));
    each_block([&](int i) {
      Value* stride = f_.getArg(kARow);
      load(first_a + i, bytes_from(a, ir_.CreateMul(first_row(i), stride)), stride);
      const auto dot =
          kernel_.multiply == Multiply::quads ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbf16ps;
      call(dot, {tile(i), tile(first_a + i), tile(b)});
    });
    fetch(k);
  }

  void store_sums() {
    each_block([&](int i) { call(llvm::Intrinsic::x86_tilestored64, {tile(i), sums(i), columns()}); });
  }

  /// A last step of fewer words, through tiles that are less deep.
  void rest(Value* whole, Value* k) {
    llvm::BasicBlock* some = new_block("rest");
    llvm::BasicBlock* none = new_block("done");
    ir_.CreateCondBr(ir_.CreateICmpSLT(whole, k), some, none);
    ir_.SetInsertPoint(some);
    configure(ir_.CreateSub(k, whole));
    each_block([&](int i) { load(i, sums(i), columns()); });
    step(whole, first_b);
    store_sums();
    ir_.CreateBr(none);
    ir_.SetInsertPoint(none);
  }

  /// The share of a step, four periods of a MicroKernel.
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

  /// for (i = begin; i < end; i += step)
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
  Value* rows_ = nullptr;
  Value* height_ = nullptr;  // of a tile
};

llvm::Function* tile_kernel(const TileKernel& kernel, int blocks, FunctionBuilder& f) {
  llvm::Type *pointer = f.ir().getPtrTy(), *i64 = f.ir().getInt64Ty();
  const std::string name = concat("tiles.", kernel.multiply == Multiply::quads ? "quads." : "pairs.", blocks, ".",
                                  kernel.columns, kernel.accumulate ? ".add" : "");
  return f.shared_function(name, {pointer, pointer, i64, pointer, i64, pointer, i64, pointer, i64, i64},
                           [&](llvm::Function& function) { TileKernelEmitter(kernel, blocks, function).emit(); });
}

}  // namespace

void TileState::begin() {
  llvm::IRBuilder<>& ir = f_.ir();
  memory_ = f_.take_memory(TileKernel::state_bytes);
  auto* words = llvm::FixedVectorType::get(ir.getInt64Ty(), TileKernel::state_bytes / 8);
  ir.CreateAlignedStore(llvm::Constant::getNullValue(words), memory_, llvm::Align(64));
  ir.CreateStore(ir.getInt8(1), memory_);  // the palette
}

void TileState::release() {
  f_.ir().CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
  f_.give_memory(memory_);
}

void TileState::multiply(const TileKernel& kernel, const TileOperands& t) {
  llvm::IRBuilder<>& ir = f_.ir();
  Value* blocks = ir.CreateUDiv(ir.CreateAdd(t.rows, f_.i64(block - 1)), f_.i64(block));
  emit_cases(f_, blocks, {1, 2, 3}, [&](int count) {
    ir.CreateCall(tile_kernel(kernel, count, f_),
                  {memory_, t.a, t.a_row_stride, t.b, t.k, t.c, t.rows, t.prefetch, t.prefetch_lines, t.prefetch_mask});
  });
}

}  // namespace gcg::cpu
