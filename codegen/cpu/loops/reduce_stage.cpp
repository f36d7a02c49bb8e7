#include "codegen/cpu/loops/reduce_stage.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "codegen/cpu/expressions/arithmetic.h"
#include "codegen/cpu/expressions/partial_sums.h"
#include "codegen/cpu/loops/vector_row.h"

namespace gcg::cpu {
namespace {

using llvm::Value;
using Values = FunctionBuilder::Values;

/// The part that both kinds of reductions share: computing the elements.
class ReduceEmitter {
 public:
  ReduceEmitter(FunctionBuilder& f, const StagePlan& plan, const Point& point)
      : f_(f),
        ir_(f.ir()),
        exprs_(f),
        plan_(plan),
        op_(plan.stage.reduce),
        dtype_(plan.stage.value->dtype),
        point_(point) {}

 protected:
  Value* identity(int lanes) { return f_.splat(emit_constant(f_, *reduce_identity(op_, dtype_)), lanes); }
  Value* combine(Value* a, Value* b) { return emit_combine(f_, op_, dtype_, a, b); }

  Value* element(const Point& at) {
    Value* v = f_.splat(exprs_.evaluate(plan_.stage.value, at), at.lanes);
    if (plan_.kept_value.operand >= 0) exprs_.store(plan_.kept_value.operand, plan_.kept_value.index, v, at);
    return v;
  }
  Value* row_element(int lanes, Value* i, Value* mask) {
    return element(lanes_at(point_, plan_.lane.id, lanes, i, mask));
  }

  /// Runs `row` at each point of the loops.
  Values nest(size_t depth, const Values& initial, const std::function<Values(const Values&)>& row) {
    if (depth == plan_.loops.size()) return row(initial);
    return f_.for_loop(f_.i64(0), f_.dim(plan_.loops[depth].extent), f_.i64(1), initial,
                       [&](Value* i, const Values& carried) {
                         point_.axes[plan_.loops[depth].id] = i;
                         return nest(depth + 1, carried, row);
                       });
  }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  ExprEmitter exprs_;
  const StagePlan& plan_;
  const ReduceOp op_;
  const DType dtype_;
  Point point_;
};

/// Reduces elements in any order. There is one accumulator for each width that pieces of the row have, widest first.
/// The loop nest carries the accumulators.
class UnorderedReduction : ReduceEmitter {
 public:
  using ReduceEmitter::ReduceEmitter;

  Value* emit() {
    if (plan_.lane.id < 0)
      return nest(0, {identity(point_.lanes)},
                  [&](const Values& carried) { return Values{combine(carried[0], element(point_))}; })[0];
    if (!plan_.may_be_short) return any_row();
    const auto fits = [&](int lanes) { return ir_.CreateICmpSLE(f_.dim(plan_.lane.extent), f_.i64(lanes)); };
    const auto in_lanes = [&](int lanes) { return [this, lanes] { return Values{short_rows(lanes)}; }; };
    const auto in_a_register = [&] {
      if (plan_.native <= kFewLanes) return in_lanes(plan_.native)();
      return f_.if_else(fits(kFewLanes), in_lanes(kFewLanes), in_lanes(plan_.native));
    };
    return f_.if_else(fits(plan_.native), in_a_register, [&] { return Values{any_row()}; })[0];
  }

 private:
  static constexpr int kFewLanes = 4;  // combining the lanes of a register takes longer than a very short row

  /// Reduces rows of at most `lanes` elements, each in one masked register.
  Value* short_rows(int lanes) {
    Value* mask = f_.first_lanes(f_.dim(plan_.lane.extent), lanes);
    const Values rows = nest(0, {identity(lanes)}, [&](const Values& carried) {
      return Values{combine(carried[0], row_element(lanes, f_.i64(0), mask))};
    });
    return emit_horizontal(f_, op_, dtype_, ir_.CreateSelect(mask, rows[0], identity(lanes)));
  }

  Value* any_row() {
    const std::vector<RowPiece> pieces = pieces_of();
    for (const RowPiece& s : pieces)
      if (std::find(widths_.begin(), widths_.end(), s.lanes) == widths_.end()) widths_.push_back(s.lanes);
    if (widths_.empty()) return identity(1);
    Values accumulators;
    for (int width : widths_) accumulators.push_back(identity(width));
    accumulators = nest(0, accumulators, [&](const Values& carried) { return row(carried); });
    Value* total = accumulators[0];
    for (size_t k = 1; k < widths_.size(); ++k) {
      while (FunctionBuilder::lanes_of(total) > widths_[k]) total = emit_halve(f_, op_, dtype_, total);
      total = combine(total, accumulators[k]);
    }
    return emit_horizontal(f_, op_, dtype_, total);
  }

  std::vector<RowPiece> pieces_of() { return row_pieces(f_, plan_, f_.i64(0), f_.dim(plan_.lane.extent)); }

  Values row(Values current) {
    for (const RowPiece& piece : pieces_of()) {
      const auto slot = static_cast<size_t>(std::find(widths_.begin(), widths_.end(), piece.lanes) - widths_.begin());
      current[slot] = run_piece(f_, piece, {current[slot]}, [&](Value* i, Value* mask, const Values& carried) {
        Value* sum = combine(carried[0], row_element(piece.lanes, i, mask));
        return Values{mask == nullptr ? sum : ir_.CreateSelect(mask, sum, carried[0])};
      })[0];
    }
    return current;
  }

  std::vector<int> widths_;
};

/// Reduces elements in the order of partial_sums.h.
class OrderedReduction : ReduceEmitter {
 public:
  using ReduceEmitter::ReduceEmitter;

  Value* emit() {
    if (plan_.lane.id < 0)
      return reduce_in_order(
          f_, op_, plan_.stage.value, point_.lanes, plan_.loops,
          [&](const Axis& axis, Value* i) { point_.axes[axis.id] = i; }, [&] { return element(point_); });
    if (!plan_.loops.empty() && !is_multiple(plan_.lane.extent, count_))
      return in_registers() ? shifted_rows() : rotated_rows();
    Value* sums = nest(0, {identity(count_)}, [&](const Values& carried) { return Values{row(carried[0])}; })[0];
    if (plan_.lane.extent.is_constant()) {
      // Lanes that no element was added to hold the identity.
      const auto extent = static_cast<unsigned>(std::max<int64_t>(1, plan_.lane.extent.constant()));
      sums = part(sums, 0, std::min(count_, static_cast<int>(std::bit_ceil(extent))));
    }
    return emit_horizontal(f_, op_, dtype_, sums);
  }

 private:
  /// `lanes` lanes of a vector from `first` on.
  Value* part(Value* vector, int first, int lanes) {
    if (lanes == FunctionBuilder::lanes_of(vector)) return vector;
    if (lanes == 1) return ir_.CreateExtractElement(vector, static_cast<uint64_t>(first));
    std::vector<int> places(static_cast<size_t>(lanes));
    std::iota(places.begin(), places.end(), first);
    return ir_.CreateShuffleVector(vector, places);
  }

  /// `vector` with its lanes from `first` on replaced by `lanes`.
  Value* replaced(Value* vector, Value* lanes, int first) {
    const int all = FunctionBuilder::lanes_of(vector), some = FunctionBuilder::lanes_of(lanes);
    if (all == some) return lanes;
    if (some == 1) return ir_.CreateInsertElement(vector, lanes, static_cast<uint64_t>(first));
    std::vector<int> widened(static_cast<size_t>(all), llvm::PoisonMaskElem), places(static_cast<size_t>(all));
    std::iota(widened.begin(), widened.begin() + some, 0);
    std::iota(places.begin(), places.end(), 0);
    std::iota(places.begin() + first, places.begin() + first + some, all);
    return ir_.CreateShuffleVector(vector, ir_.CreateShuffleVector(lanes, widened), places);
  }

  /// Adds the row to the sums: lane k takes the elements k, k + count, ...
  Value* row(Value* sums) {
    Value *begin = f_.i64(0), *end = f_.dim(plan_.lane.extent);
    if (plan_.wide == count_) {
      Value* stop = ir_.CreateAnd(end, f_.i64(-int64_t{count_}));
      sums = f_.for_loop(begin, stop, f_.i64(count_), {sums}, [&](Value* i, const Values& carried) {
        return Values{combine(carried[0], row_element(count_, i, nullptr))};
      })[0];
      if (is_multiple(plan_.lane.extent, count_)) return sums;
      begin = stop;
    }
    const auto *first = llvm::dyn_cast<llvm::ConstantInt>(begin), *last = llvm::dyn_cast<llvm::ConstantInt>(end);
    const bool few = first != nullptr && last != nullptr && last->getSExtValue() - first->getSExtValue() <= count_;
    if (few && (plan_.maskable || (last->getSExtValue() - first->getSExtValue()) % plan_.native == 0))
      return rest(sums, first->getSExtValue(), last->getSExtValue());
    const auto last_elements = [&] {
      return Values{in_registers() ? some_lanes(sums, begin, f_.i64(0), ir_.CreateSub(end, begin))
                                   : in_memory(sums, begin, end)};
    };
    return f_.if_else(ir_.CreateICmpSLT(begin, end), last_elements, [&] { return Values{sums}; })[0];
  }

  /// True if the sums stay in registers: whole vectors of sums add most of a row, and masks select its last elements.
  bool in_registers() const { return plan_.maskable && plan_.native > 1 && plan_.wide == count_; }

  /// Adds a known number of elements of a row, at most one per sum; the first goes to the first sum.
  Value* rest(Value* sums, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += plan_.native) {
      const auto place = static_cast<int>(i - begin);
      Value* mask = end - i < plan_.native ? f_.first_lanes(f_.i64(end - i), plan_.native) : nullptr;
      Value* sum = part(sums, place, plan_.native);
      Value* next = combine(sum, row_element(plan_.native, f_.i64(i), mask));
      sums = replaced(sums, mask == nullptr ? next : ir_.CreateSelect(mask, next, sum), place);
    }
    return sums;
  }

  /// Adds a register of elements at a time; the first element goes to the first sum.
  Value* in_memory(Value* initial, Value* begin, Value* end) {
    PartialSums sums(f_, op_, dtype_, 1);
    sums.set_vector(initial);
    StagePlan narrow = plan_;
    narrow.wide = narrow.native;
    for (const RowPiece& piece : row_pieces(f_, narrow, begin, end))
      run_piece(f_, piece, {}, [&](Value* i, Value* mask, const Values&) {
        sums.add(ir_.CreateAnd(i, f_.i64(count_ - 1)), row_element(piece.lanes, i, mask), mask);
        return Values{};
      });
    return sums.vector();
  }

  /// Each row may start with another of the `count` partial sums. The sums stay in registers: a row is read as if it
  /// began `number` elements earlier, and lanes outside the row are masked off.
  Value* shifted_rows() {
    Value *extent = f_.dim(plan_.lane.extent), *count = f_.i64(count_);
    const Values end = nest(0, {identity(count_), f_.i64(0)}, [&](const Values& carried) {
      Value *number = carried[1], *after = ir_.CreateAdd(number, extent);
      Value* sums = some_lanes(carried[0], ir_.CreateNeg(number), number, extent);
      const auto more = [&] { return Values{from_first_sum(sums, ir_.CreateSub(count, number), extent)}; };
      sums = f_.if_else(ir_.CreateICmpSGT(after, count), more, [&] { return Values{sums}; })[0];
      return Values{sums, ir_.CreateAnd(after, f_.i64(count_ - 1))};
    });
    return emit_horizontal(f_, op_, dtype_, end[0]);
  }

  /// Adds the elements from `begin` on, the first one to the first sum.
  Value* from_first_sum(Value* sums, Value* begin, Value* end) {
    Value* stop = ir_.CreateAdd(begin, ir_.CreateAnd(ir_.CreateSub(end, begin), f_.i64(-int64_t{count_})));
    sums = f_.for_loop(begin, stop, f_.i64(count_), {sums}, [&](Value* i, const Values& carried) {
      return Values{combine(carried[0], row_element(count_, i, nullptr))};
    })[0];
    const auto rest = [&] { return Values{some_lanes(sums, stop, f_.i64(0), ir_.CreateSub(end, stop))}; };
    return f_.if_else(ir_.CreateICmpSLT(stop, end), rest, [&] { return Values{sums}; })[0];
  }

  /// Adds an element to each of `some` sums from sum `first` on, as far as there are sums: no sum gets two. `begin`:
  /// the element that sum 0 would get.
  Value* some_lanes(Value* sums, Value* begin, Value* first, Value* some) {
    some = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, some, f_.i64(count_));
    Value* after = ir_.CreateAdd(first, some);
    const auto mask_at = f_.target().has_avx512() ? mask_of_bits(first, some) : mask_of_lanes(first, some);
    for (int place = 0; place < count_; place += plan_.native) {
      Value *mask = mask_at(place), *sum = part(sums, place, plan_.native);
      const auto add = [&] {
        Value* elements = row_element(plan_.native, ir_.CreateAdd(begin, f_.i64(place)), mask);
        // The identity changes no sum, because sums begin with it: they are never -0.
        return Values{combine(sum, ir_.CreateSelect(mask, elements, identity(plan_.native)))};
      };
      Value* any =
          place == 0 ? ir_.CreateICmpSLT(first, f_.i64(plan_.native)) : ir_.CreateICmpSGT(after, f_.i64(place));
      if (place > 0 && place + plan_.native < count_)
        any = ir_.CreateAnd(any, ir_.CreateICmpSLT(first, f_.i64(place + plan_.native)));
      sums = replaced(sums, f_.if_else(any, add, [&] { return Values{sum}; })[0], place);
    }
    return sums;
  }

  /// The masks of registers whose first lane is a given sum, for `some` sums from `first` on. AVX-512 has registers for
  /// masks, which it takes from scalar bits.
  using MaskAt = std::function<Value*(int place)>;
  MaskAt mask_of_bits(Value* first, Value* some) {
    Value* ones = ir_.CreateSub(ir_.CreateShl(f_.i64(1), some), f_.i64(1));
    return [this, bits = ir_.CreateShl(ones, first)](int place) {
      Value* lanes =
          ir_.CreateTrunc(ir_.CreateLShr(bits, f_.i64(place)), ir_.getIntNTy(static_cast<unsigned>(plan_.native)));
      return ir_.CreateBitCast(lanes, llvm::FixedVectorType::get(ir_.getInt1Ty(), static_cast<unsigned>(plan_.native)));
    };
  }
  MaskAt mask_of_lanes(Value* first, Value* some) {
    const auto i32 = [&](Value* v) { return f_.splat(ir_.CreateTrunc(v, ir_.getInt32Ty()), plan_.native); };
    return [this, low = i32(first), length = i32(some)](int place) {
      std::vector<uint32_t> numbers(static_cast<size_t>(plan_.native));
      std::iota(numbers.begin(), numbers.end(), static_cast<uint32_t>(place));
      Value* distance = ir_.CreateSub(llvm::ConstantDataVector::get(f_.context(), numbers), low);
      return ir_.CreateICmpULT(distance, length);
    };
  }

  /// The same for targets without masked loads. Memory holds the sums several times in a row, and a row loads one
  /// vector from its first sum on.
  Value* rotated_rows() {
    llvm::AllocaInst* memory = f_.take_memory(3 * int64_t{count_} * size_of(dtype_));
    Value* count = f_.i64(count_);
    const auto store = [&](Value* sums, Value* number) {
      f_.store(sums, memory, dtype_, number);
      f_.store(sums, memory, dtype_, ir_.CreateAdd(number, count));
    };
    store(identity(count_), f_.i64(0));
    // The loop carries the address that the last row wrote, and the sum that the next row starts with.
    nest(0, {f_.i64(0), f_.i64(0)}, [&](const Values& carried) {
      Value* number = carried[1];
      Value* from = ir_.CreateSelect(ir_.CreateICmpSGE(number, carried[0]), number, ir_.CreateAdd(number, count));
      store(row(f_.load(memory, dtype_, from, count_)), number);
      Value* next = ir_.CreateAnd(ir_.CreateAdd(number, f_.dim(plan_.lane.extent)), f_.i64(count_ - 1));
      return Values{number, next};
    });
    Value* total = emit_horizontal(f_, op_, dtype_, f_.load(memory, dtype_, count, count_));
    f_.give_memory(memory);
    return total;
  }

  const int count_ = partial_sum_count(dtype_);
};

}  // namespace

Value* emit_reduce_stage(FunctionBuilder& f, const StagePlan& plan, const Point& point) {
  if (depends_on_order(plan.stage.reduce, plan.stage.value->dtype)) return OrderedReduction(f, plan, point).emit();
  return UnorderedReduction(f, plan, point).emit();
}

}  // namespace gcg::cpu
