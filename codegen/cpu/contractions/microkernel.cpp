#include "codegen/cpu/contractions/microkernel.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/cpu/llvm/function_builder.h"
#include "codegen/cpu/llvm/widen_half.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

constexpr int64_t prefetch_period = MicroKernel::prefetch_period;
enum Argument : unsigned { kA, kB, kK, kC, kPrefetch, kPrefetchLines, kPrefetchMask, kARow, kAColumn, kBRow, kTail };

std::string name_of(const MicroKernel& m) {
  const std::string right(sums_floats(m.multiply) ? gcg::name_of(m.right) : "quads");
  return "tile." + right + "." + std::to_string(static_cast<int>(m.multiply)) + "." + std::to_string(m.rows) + "x" +
         std::to_string(m.vectors * m.lanes) + ".a" + name_of_stride(m.a_row_stride) + "_" +
         name_of_stride(m.a_column_stride) + ".b" + name_of_stride(m.b_row_stride) + ".c" +
         std::to_string(m.c_row_stride) + ".p" + name_of_stride(m.prefetch_lines) +
         (m.steps > 1 ? ".s" + std::to_string(m.steps) : "") + (m.accumulate ? ".add" : "") +
         (m.masked ? ".masked" : "");
}

/// Emits the body of one tile function.
class TileEmitter {
 public:
  TileEmitter(const MicroKernel& shape, llvm::Function& function)
      : m_(shape),
        f_(function),
        b_(function.getContext()),
        dot_(b_, m_.multiply),
        word_(dot_.word()),
        word_bytes_(size_of(type_of_sums(m_.multiply))),
        a_element_(DotProduct::elements(m_.multiply) == 1 ? word_ : b_.getInt8Ty()),
        vector_(llvm::FixedVectorType::get(word_, static_cast<unsigned>(m_.lanes))),
        b_element_(size_of(m_.right) < 4 ? b_.getInt16Ty() : word_) {}

  void emit() {
    entry_ = &f_.getEntryBlock();
    b_.SetInsertPoint(entry_);
    a_row_ = value(m_.a_row_stride, kARow);
    a_column_ = value(m_.a_column_stride, kAColumn);
    b_row_ = value(m_.b_row_stride, kBRow);
    if (m_.masked) mask_ = lane_mask(f_.getArg(kTail));
    Values accumulators(static_cast<size_t>(m_.sets() * m_.rows * m_.vectors),
                        llvm::ConstantAggregateZero::get(vector_));
    if (m_.accumulate) {
      for (size_t i = 0; i < tile_size(); ++i)
        accumulators[i] = b_.CreateAlignedLoad(vector_, c_place(i), c_alignment());
    }
    llvm::Value* start = b_.getInt64(0);
    if (m_.sets() > 1) {
      llvm::Value* whole_depth = b_.CreateAnd(f_.getArg(kK), b_.getInt64(-static_cast<int64_t>(m_.sets())));
      accumulators = k_loop(start, whole_depth, std::move(accumulators), m_.sets(), true);
      start = whole_depth;
      fold_sets(accumulators);
    }
    accumulators = k_loop(start, f_.getArg(kK), std::move(accumulators), m_.sets() > 1 ? 1 : m_.steps, m_.sets() == 1);
    for (size_t i = 0; i < tile_size(); ++i) b_.CreateAlignedStore(accumulators[i], c_place(i), c_alignment());
    b_.CreateRetVoid();
  }

 private:
  using Values = std::vector<llvm::Value*>;

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(f_.getContext(), name, &f_); }
  size_t tile_size() const { return tile_index(m_.rows, 0); }
  llvm::Align c_alignment() const { return llvm::Align(static_cast<uint64_t>(m_.lanes * word_bytes_)); }
  llvm::Value* c_place(size_t index) {
    const auto row = static_cast<int64_t>(index) / m_.vectors, vector = static_cast<int64_t>(index) % m_.vectors;
    return b_.CreateConstGEP1_64(word_, f_.getArg(kC),
                                 static_cast<uint64_t>(row * m_.c_row_stride + vector * m_.lanes));
  }
  size_t tile_index(int row, int vector) const {
    return static_cast<size_t>(row) * static_cast<size_t>(m_.vectors) + static_cast<size_t>(vector);
  }
  llvm::Value* value(const std::optional<int64_t>& constant, unsigned argument) {
    return constant ? static_cast<llvm::Value*>(b_.getInt64(*constant)) : f_.getArg(argument);
  }
  llvm::Value* lane_mask(llvm::Value* lanes) {
    std::vector<llvm::Constant*> numbers;
    numbers.reserve(static_cast<size_t>(m_.lanes));
    for (int i = 0; i < m_.lanes; ++i) numbers.push_back(b_.getInt32(static_cast<uint32_t>(i)));
    llvm::Value* limit = b_.CreateVectorSplat(m_.lanes, b_.CreateTrunc(lanes, b_.getInt32Ty()));
    return b_.CreateICmpULT(llvm::ConstantVector::get(numbers), limit);
  }

  void fold_sets(Values& accumulators) {
    const size_t tile = tile_size();
    for (size_t i = 0; i < tile; ++i) {
      for (size_t set = 1; set < static_cast<size_t>(m_.sets()); ++set) {
        accumulators[i] = dot_.add_sums(accumulators[i], accumulators[set * tile + i]);
      }
    }
    accumulators.resize(tile);
  }

  /// Emits for (k = start; k < end; k += steps), with one k step for each accumulator set, or all steps for the only
  /// set.
  /// Requires (end - start) % steps == 0.
  Values k_loop(llvm::Value* start, llvm::Value* end, Values initial, int steps, bool fetch) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* head = block("k");
    llvm::BasicBlock* done = block("k.done");
    b_.CreateCondBr(b_.CreateICmpSLT(start, end), head, done);

    b_.SetInsertPoint(head);
    llvm::PHINode* k = b_.CreatePHI(b_.getInt64Ty(), 2);
    k->addIncoming(start, before);
    Values accumulators;
    for (llvm::Value* value : initial) {
      llvm::PHINode* phi = b_.CreatePHI(vector_, 2);
      phi->addIncoming(value, before);
      accumulators.push_back(phi);
    }
    Values phis = accumulators;
    if (fetch && m_.prefetch_lines != 0) prefetch(k);
    const bool one_set = m_.sets() == 1;
    for (int step = 0; step < steps; ++step) {
      // Without the fence, the scheduler would mix steps and spill sums.
      if (step > 0 && one_set) fence(b_, accumulators);
      k_step(k, step, accumulators, one_set ? 0 : static_cast<size_t>(step) * tile_size());
    }
    llvm::BasicBlock* last = b_.GetInsertBlock();
    llvm::Value* next = b_.CreateAdd(k, b_.getInt64(static_cast<uint64_t>(steps)), "", true, true);
    k->addIncoming(next, last);
    for (size_t i = 0; i < phis.size() && i < accumulators.size(); ++i) {
      llvm::cast<llvm::PHINode>(phis[i])->addIncoming(accumulators[i], last);
    }
    keep_rolled(b_.CreateCondBr(b_.CreateICmpSLT(next, end), head, done));

    b_.SetInsertPoint(done);
    Values results;
    for (size_t i = 0; i < initial.size(); ++i) {
      llvm::PHINode* phi = b_.CreatePHI(vector_, 2);
      phi->addIncoming(initial[i], before);
      phi->addIncoming(accumulators[i], last);
      results.push_back(phi);
    }
    return results;
  }

  /// Keeps LLVM from unrolling the loop further, which would add steps without fences.
  void keep_rolled(llvm::BranchInst* branch) {
    llvm::LLVMContext& c = f_.getContext();
    auto* disable = llvm::MDNode::get(c, llvm::MDString::get(c, "llvm.loop.unroll.disable"));
    llvm::MDNode* loop = llvm::MDNode::getDistinct(c, {nullptr, disable});
    loop->replaceOperandWith(0, loop);
    branch->setMetadata(llvm::LLVMContext::MD_loop, loop);
  }

  /// Prefetches once in a period of k steps, in its own block, so that the basic block that LLVM schedules for a k step
  /// stays small.
  void prefetch(llvm::Value* k) {
    llvm::BasicBlock* fetch = block("prefetch");
    llvm::BasicBlock* body = block("k.step");
    // If the mask has all bits set, only the first step fetches.
    llvm::Value* phase = b_.CreateAnd(k, f_.getArg(kPrefetchMask));
    b_.CreateCondBr(b_.CreateICmpEQ(phase, b_.getInt64(0)), fetch, body);
    b_.SetInsertPoint(fetch);
    llvm::Value* per_step =
        b_.CreateMul(value(m_.prefetch_lines, kPrefetchLines), b_.getInt64(kCacheLine / prefetch_period));
    llvm::Value* line = b_.CreateGEP(b_.getInt8Ty(), f_.getArg(kPrefetch), b_.CreateMul(k, per_step));
    if (m_.prefetch_lines) {
      for (int64_t i = 0; i < *m_.prefetch_lines; ++i) fetch_line(line, b_.getInt64(static_cast<uint64_t>(i)));
      b_.CreateBr(body);
    } else {
      // A loop here would make the k loop an outer loop, and LLVM would then compute its addresses again in every
      // iteration.
      for (int64_t i = 0; i < most_lines(); ++i) {
        if (i > 0) {
          llvm::BasicBlock* further = block("prefetch.line");
          b_.CreateCondBr(b_.CreateICmpSGT(f_.getArg(kPrefetchLines), b_.getInt64(static_cast<uint64_t>(i))), further,
                          body);
          b_.SetInsertPoint(further);
        }
        fetch_line(line, b_.getInt64(static_cast<uint64_t>(i)));
      }
      b_.CreateBr(body);
    }
    b_.SetInsertPoint(body);
  }

  /// Cache lines of a panel in one period, the most that a pass fetches.
  int64_t most_lines() const {
    GCG_CHECK(m_.b_row_stride, "a panel that is fetched has a constant width");
    return std::max<int64_t>(1, prefetch_period * *m_.b_row_stride * size_of(m_.right) / kCacheLine);
  }

  void fetch_line(llvm::Value* base, llvm::Value* index) {
    llvm::Value* place = b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(index, b_.getInt64(kCacheLine)));
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {place->getType()},
                       {place, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
  }

  /// Emits k step `k` + `ahead`.
  void k_step(llvm::Value* k, int ahead, Values& accumulators, size_t first) {
    const auto place_of = [&](llvm::Type* element, unsigned operand, llvm::Value* stride) {
      llvm::Value* at = b_.CreateGEP(element, f_.getArg(operand), b_.CreateMul(k, stride, "", true, true));
      llvm::Value* further = b_.CreateMul(b_.getInt64(static_cast<uint64_t>(ahead)), stride, "", true, true);
      return b_.CreateGEP(element, at, further);
    };
    llvm::Value* b_place = place_of(b_element_, kB, b_row_);
    Values words;
    for (int v = 0; v < m_.vectors; ++v) {
      llvm::Value* place =
          b_.CreateConstGEP1_64(b_element_, b_place, static_cast<uint64_t>(v) * static_cast<uint64_t>(m_.lanes));
      words.push_back(right_words(place, mask_ && v == m_.vectors - 1));
    }
    llvm::Value* a_place = place_of(a_element_, kA, a_column_);
    for (int part = 0; part < dot_.parts(); ++part) {
      Values columns;
      if (part > 0) fence_tile(accumulators, first);
      for (llvm::Value* w : words) columns.push_back(dot_.right(w, part));
      llvm::Value* a_part = part == 0 ? a_place : b_.CreateConstGEP1_64(word_, a_place, static_cast<uint64_t>(part));
      for (int r = 0; r < m_.rows; ++r) rank_one_update(a_part, columns, r, accumulators, first);
    }
  }

  llvm::Value* right_words(llvm::Value* place, bool masked) {
    const llvm::Align align(static_cast<uint64_t>(word_bytes_));
    if (masked) return b_.CreateMaskedLoad(vector_, place, align, mask_, llvm::ConstantAggregateZero::get(vector_));
    if (size_of(m_.right) == word_bytes_) return b_.CreateAlignedLoad(vector_, place, align);
    auto* bits = llvm::FixedVectorType::get(b_element_, static_cast<unsigned>(m_.lanes));
    llvm::Value* row = b_.CreateAlignedLoad(bits, place, align);
    if (m_.multiply == Multiply::floats) return widen_half(b_, m_.right, row);
    llvm::Value* next = b_.CreateGEP(b_element_, place, b_.CreateLShr(b_row_, 1));
    return interleaved_pairs(b_, row, b_.CreateAlignedLoad(bits, next, align));
  }

  void fence_tile(Values& accumulators, size_t first) {
    const auto begin = accumulators.begin() + static_cast<std::ptrdiff_t>(first),
               end = begin + static_cast<std::ptrdiff_t>(tile_size());
    Values sums(begin, end);
    fence(b_, sums);
    std::copy(sums.begin(), sums.end(), begin);
  }

  /// Adds the product of a row's word at `a` and the columns to the sums of the row.
  void rank_one_update(llvm::Value* a, const Values& columns, int r, Values& accumulators, size_t first) {
    llvm::Value* offset = b_.CreateMul(b_.getInt64(static_cast<uint64_t>(r)), a_row_, "", true, true);
    llvm::Value* scalar = b_.CreateAlignedLoad(word_, b_.CreateGEP(a_element_, a, offset), llvm::Align(a_alignment()));
    llvm::Value* row = b_.CreateVectorSplat(m_.lanes, scalar);
    for (int v = 0; v < m_.vectors; ++v) {
      llvm::Value*& sum = accumulators[first + tile_index(r, v)];
      sum = dot_.add(row, columns[static_cast<size_t>(v)], sum);
    }
  }

  /// Alignment of A: rows of bytes may begin anywhere.
  uint64_t a_alignment() const {
    const bool bytes = m_.multiply == Multiply::bytes || m_.multiply == Multiply::signed_bytes ||
                       m_.multiply == Multiply::narrow_bytes;
    return bytes ? 1 : static_cast<uint64_t>(word_bytes_);
  }

  const MicroKernel& m_;
  llvm::Function& f_;
  llvm::IRBuilder<> b_;
  DotProduct dot_;
  llvm::Type* word_;
  int64_t word_bytes_;
  llvm::Type* a_element_;  // the unit of A's strides
  llvm::FixedVectorType* vector_;
  llvm::Type* b_element_;  // the unit of B's strides
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value* a_row_ = nullptr;
  llvm::Value* a_column_ = nullptr;
  llvm::Value* b_row_ = nullptr;
  llvm::Value* mask_ = nullptr;
};

}  // namespace

std::optional<int64_t> constant_of(llvm::Value* stride) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(stride);
  return constant != nullptr ? std::optional<int64_t>(constant->getSExtValue()) : std::nullopt;
}

std::string name_of_stride(const std::optional<int64_t>& stride) { return stride ? std::to_string(*stride) : "x"; }

llvm::Function* micro_kernel(const MicroKernel& kernel, FunctionBuilder& f) {
  llvm::Type *pointer = f.ir().getPtrTy(), *i64 = f.ir().getInt64Ty();
  return f.shared_function(name_of(kernel), {pointer, pointer, i64, pointer, pointer, i64, i64, i64, i64, i64, i64},
                           [&](llvm::Function& function) {
                             function.addParamAttr(kC, llvm::Attribute::NoAlias);
                             TileEmitter(kernel, function).emit();
                           });
}

}  // namespace gcg::cpu
