#include "codegen/cpu/contractions/integer_rows.h"

#include "codegen/cpu/expressions/packed_bytes.h"

namespace gcg::cpu {
namespace {

using Values = FunctionBuilder::Values;

constexpr int kLanes = IntegerRowLayout::kLanes;
constexpr int64_t kLongestBlock =
    128;  // rows that share a scale of A: few enough for sums in i32, and to limit the effect of an outlier
constexpr double kLargest = 127 * 256;  // bound of integers in two bytes, so that the upper byte fits
constexpr float kLeast = 1e-30F;        // a block whose elements are all smaller counts as zeros

/// Converts one row of A to its IntegerRowLayout.
class RowEmitter {
 public:
  RowEmitter(FunctionBuilder& f, const BlockPacking& packing) : f_(f), packing_(packing), layout_(packing) {}

  void emit(llvm::Value* a, llvm::Value* to) {
    a_ = a;
    to_ = to;
    if (packing_.exact) f_.store(f_.i64(0), at_byte(f_, to_, f_.i64(layout_.bytes() - 8)), DType::i64, f_.i64(0));
    const int64_t whole = packing_.rows / layout_.block, remainder = packing_.rows % layout_.block;
    f_.for_loop(f_.i64(0), f_.i64(whole), f_.i64(1), [&](llvm::Value* block) { one_block(block, layout_.block); });
    if (remainder > 0) one_block(f_.i64(whole), remainder);
  }

 private:
  llvm::Value* zero(DType type) { return llvm::Constant::getNullValue(f_.type(type, kLanes)); }

  llvm::Value* elements(llvm::Value* k) {
    llvm::Value* left = f_.ir().CreateSub(f_.i64(packing_.rows), k);
    return f_.load(a_, DType::f32, k, kLanes, packing_.rows % kLanes == 0 ? nullptr : f_.first_lanes(left, kLanes));
  }

  /// How a block's elements become integers: multiplied by `factor` and rounded. Elements of at least `bound` stay
  /// floats.
  struct Unit {
    llvm::Value* factor = nullptr;
    llvm::Value* scale = nullptr;
    llvm::Value* bound = nullptr;
  };

  void one_block(llvm::Value* block, int64_t rows) {
    llvm::IRBuilder<>& ir = f_.ir();
    llvm::Value* first = ir.CreateMul(block, f_.i64(layout_.block));
    llvm::Value *begin = f_.i64(0), *end = f_.i64(rows), *step = f_.i64(kLanes);
    // A non-finite element makes the scale non-finite.
    const Values seen =
        f_.for_loop(begin, end, step, {zero(DType::f32), zero(DType::f32)}, [&](llvm::Value* k, const Values& so_far) {
          llvm::Value* x = elements(ir.CreateAdd(first, k));
          llvm::Value* size = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
          llvm::Value* larger = ir.CreateSelect(ir.CreateFCmpOGT(size, so_far[0]), size, so_far[0]);
          return Values{larger, ir.CreateFAdd(ir.CreateFMul(x, zero(DType::f32)), so_far[1])};
        });
    const Unit unit = packing_.exact ? power_of_two(seen[0]) : largest_element(seen[0], seen[1]);
    const auto parts = static_cast<size_t>(layout_.parts());
    const Values sums =
        f_.for_loop(begin, end, step, Values(parts, zero(DType::i32)), [&](llvm::Value* k, const Values& so_far) {
          return add_bytes(integers(unit, ir.CreateAdd(first, k)), ir.CreateAdd(first, k), so_far);
        });
    llvm::Value* sum = ir.getInt32(0);
    for (size_t p = 0; p < parts; ++p) {
      llvm::Value* of_part = ir.CreateAddReduce(sums[p]);
      sum = ir.CreateAdd(ir.CreateShl(sum, 8), of_part);
      llvm::Value* start = ir.CreateNeg(ir.CreateShl(of_part, static_cast<uint64_t>(packing_.bits - 1)));
      f_.store(start, at_byte(f_, to_, f_.i64(layout_.starts(static_cast<int64_t>(p)))), DType::i32, block);
    }
    f_.store(unit.scale, at_byte(f_, to_, f_.i64(layout_.scales())), DType::f32, block);
    f_.store(ir.CreateSIToFP(sum, ir.getFloatTy()), at_byte(f_, to_, f_.i64(layout_.sums())), DType::f32, block);
  }

  /// `sizes`: by lane, the largest absolute value of its elements. `nothing`: 0, or NaN if an element is not finite.
  Unit largest_element(llvm::Value* sizes, llvm::Value* nothing) {
    llvm::IRBuilder<>& ir = f_.ir();
    llvm::Value* largest = ir.CreateFPMaxReduce(sizes);
    llvm::Value* is_small = ir.CreateFCmpOLT(largest, f_.f32(kLeast));
    return {ir.CreateSelect(is_small, f_.f32(0), ir.CreateFDiv(f_.f32(kLargest), largest)),
            ir.CreateFAdd(ir.CreateFMul(largest, f_.f32(1 / kLargest)), ir.CreateFAddReduce(f_.f32(0), nothing)),
            nullptr};
  }

  /// A scale that is a power of two, so that multiplication rounds no element. Its exponent is that of the largest
  /// element, but at most `above` more than the mean exponent of the lanes. A first mean limits the exponents that
  /// count in the second mean, so that a few large elements hardly raise it.
  Unit power_of_two(llvm::Value* sizes) {
    llvm::IRBuilder<>& ir = f_.ir();
    constexpr int64_t kManyRows = 64;
    // The largest of a lane's 4 elements is near the largest of all.
    const int above = layout_.block >= kManyRows ? 1 : 2;
    constexpr int kMantissa = 23, kLeastExponent = 27, kLargestExponent = 253, kBias = 127;
    constexpr double kMargin = 1 + 1.0 / 127;  // integers in three bytes must be below 2^23 / kMargin
    const auto smaller = [&](llvm::Value* a, llvm::Value* b) {
      return ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b);
    };
    const auto larger = [&](llvm::Value* a, llvm::Value* b) {
      return ir.CreateBinaryIntrinsic(llvm::Intrinsic::umax, a, b);
    };
    llvm::Value* exponents = ir.CreateLShr(ir.CreateBitCast(sizes, f_.type(DType::i32, kLanes)), kMantissa);
    llvm::Value* are_some = ir.CreateZExt(ir.CreateICmpNE(exponents, zero(DType::i32)), exponents->getType());
    llvm::Value* lanes = larger(ir.CreateAddReduce(are_some), ir.getInt32(1));
    const auto mean = [&](llvm::Value* numbers) {
      return ir.CreateUDiv(ir.CreateAdd(ir.CreateAddReduce(numbers), ir.CreateSub(lanes, ir.getInt32(1))), lanes);
    };
    llvm::Value* usual = mean(smaller(exponents, f_.splat(mean(exponents), kLanes)));
    llvm::Value* largest = ir.CreateFMul(ir.CreateFPMaxReduce(sizes), f_.f32(kMargin));
    llvm::Value* exponent = ir.CreateLShr(ir.CreateBitCast(largest, ir.getInt32Ty()), kMantissa);
    exponent = smaller(ir.CreateAdd(usual, ir.getInt32(static_cast<uint32_t>(above))), exponent);
    exponent = smaller(larger(exponent, ir.getInt32(kLeastExponent)), ir.getInt32(kLargestExponent));
    const auto power = [&](llvm::Value* e) { return ir.CreateBitCast(ir.CreateShl(e, kMantissa), ir.getFloatTy()); };
    return {power(ir.CreateSub(ir.getInt32(2 * kBias + kMantissa - 1), exponent)),
            power(ir.CreateSub(exponent, ir.getInt32(kMantissa - 1))),
            ir.CreateFMul(power(ir.CreateAdd(exponent, ir.getInt32(1))), f_.f32(1 / kMargin))};
  }

  /// The integers of 16 elements. Marks the elements that stay floats, which include all that are not finite.
  llvm::Value* integers(const Unit& unit, llvm::Value* place) {
    llvm::IRBuilder<>& ir = f_.ir();
    llvm::Value* x = elements(place);
    llvm::Value* scaled = ir.CreateFMul(x, f_.splat(unit.factor, kLanes));
    if (unit.bound) {
      llvm::Value* size = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
      llvm::Value* is_large = ir.CreateFCmpUGE(size, f_.splat(unit.bound, kLanes));
      llvm::Value* bits = at_byte(f_, to_, ir.CreateAdd(ir.CreateLShr(place, 3), f_.i64(layout_.large())));
      ir.CreateAlignedStore(ir.CreateBitCast(is_large, ir.getInt16Ty()), bits, llvm::Align(1));
      scaled = ir.CreateSelect(is_large, zero(DType::f32), scaled);
    }
    return emit_nearest(f_, scaled);
  }

  /// Stores the bytes of 16 integers and adds them to each part's sums.
  Values add_bytes(llvm::Value* x, llvm::Value* place, Values sums) {
    llvm::IRBuilder<>& ir = f_.ir();
    for (size_t p = sums.size(); p-- > 0;) {
      llvm::Value* remainder = p == 0 ? llvm::Constant::getNullValue(x->getType())
                                      : ir.CreateAShr(ir.CreateAdd(x, llvm::ConstantInt::get(x->getType(), 128)), 8);
      llvm::Value* byte = ir.CreateSub(x, ir.CreateShl(remainder, 8));
      store(byte, ir.CreateAdd(place, f_.i64(layout_.part(static_cast<int64_t>(p)))));
      sums[p] = ir.CreateAdd(sums[p], byte);
      x = remainder;
    }
    return sums;
  }

  /// Stores the lowest bytes of 16 elements, in the order of VNNI groups.
  void store(llvm::Value* words, llvm::Value* place) {
    llvm::IRBuilder<>& ir = f_.ir();
    llvm::Value* bytes = ir.CreateTrunc(words, llvm::FixedVectorType::get(ir.getInt8Ty(), kLanes));
    const int64_t vnni_groups = layout_.vnni_groups(), word = 4 * vnni_groups;
    std::vector<int> order;
    for (int64_t i = 0; i < kLanes; ++i) {
      const int64_t in_word = i % word;
      order.push_back(static_cast<int>(i - in_word + in_word % 4 * vnni_groups + in_word / 4));
    }
    ir.CreateAlignedStore(ir.CreateShuffleVector(bytes, order), at_byte(f_, to_, place), llvm::Align(1));
  }

  FunctionBuilder& f_;
  const BlockPacking& packing_;
  const IntegerRowLayout layout_;
  llvm::Value* a_ = nullptr;
  llvm::Value* to_ = nullptr;
};

}  // namespace

IntegerRowLayout::IntegerRowLayout(const BlockPacking& packing) : packing_(packing) {
  const int64_t longest = packing.blocks() == 1 ? kLongestBlock : std::min(packing.block, kLongestBlock);
  block = longest;
  while (packing.blocks() > 1 && packing.block % block != 0) block -= kLanes;
  blocks = blocks_of(packing.rows, block);
  row = blocks_of(packing.rows, int64_t{64}) * 64;
  numbers = blocks_of(blocks, kLanes) * kLanes;
}

void emit_integer_row(FunctionBuilder& f, const BlockPacking& packing, llvm::Value* a, llvm::Value* to) {
  RowEmitter(f, packing).emit(a, to);
}

}  // namespace gcg::cpu
