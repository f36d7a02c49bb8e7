#include "codegen/cpu/expressions/partial_sums.h"

#include <algorithm>

#include "codegen/cpu/expressions/arithmetic.h"

namespace gcg::cpu {
namespace {

using llvm::Value;
using Values = FunctionBuilder::Values;

using SetAxis = std::function<void(const Axis&, Value*)>;
using Element = std::function<Value*()>;

Value* identity_of(FunctionBuilder& f, ReduceOp op, DType dtype) {
  return emit_constant(f, *reduce_identity(op, dtype));
}

/// A window of `size` points, without loops. Partial sums stay in registers and are added as early as possible.
class Window {
 public:
  Window(FunctionBuilder& f, ReduceOp op, DType dtype, const std::vector<Axis>& axes, const SetAxis& at,
         const Element& element, int64_t size)
      : f_(f), op_(op), dtype_(dtype), axes_(axes), at_(at), element_(element), size_(size) {}

  /// Folds partial sum `number`, and the sums that are added to it, while more than `width` sums are left.
  Value* total(int64_t number, int64_t width) {
    if (width == partial_sum_count(dtype_)) return partial_sum(number);
    Value* sum = total(number, 2 * width);
    return number + width < size_ ? emit_combine(f_, op_, dtype_, sum, total(number + width, 2 * width)) : sum;
  }

 private:
  Value* partial_sum(int64_t number) {
    Value* sum = nullptr;
    for (int64_t r = number; r < size_; r += partial_sum_count(dtype_)) {
      int64_t rest = r;
      for (size_t k = axes_.size(); k-- > 0;) {
        const int64_t extent = axes_[k].extent.constant();
        at_(axes_[k], f_.i64(rest % extent));
        rest /= extent;
      }
      Value* v = element_();
      sum = sum == nullptr ? v : emit_combine(f_, op_, dtype_, sum, v);
    }
    return sum;
  }

  FunctionBuilder& f_;
  ReduceOp op_;
  DType dtype_;
  const std::vector<Axis>& axes_;
  const SetAxis& at_;
  const Element& element_;
  int64_t size_;
};

/// True if the body does so little that the time to read and write partial sums matters.
bool is_plain(const Expr& body) {
  constexpr int kFewNodes = 16;
  int nodes = 0;
  visit(body, [&](const ExprNode& n) { nodes += n.kind == ExprKind::reduce ? kFewNodes : 1; });
  return nodes <= kFewNodes;
}

/// Adds several elements of an axis at a time to each sum, so that sums are read and written less often.
class UnrolledAdder {
 public:
  UnrolledAdder(FunctionBuilder& f, const Axis& axis, PartialSums& sums, const SetAxis& at, const Element& element)
      : f_(f), axis_(axis), sums_(sums), at_(at), element_(element) {}

  /// Adds elements as long as each sum gets several at once, and returns the number of the first remaining element.
  /// Then every sum has an element, unless there are fewer elements than sums.
  Value* add() {
    llvm::IRBuilder<>& ir = f_.ir();
    const auto more = [&](Value* number, int each, const auto& element) { sums_.add(number, each, element); };
    const int64_t count = sums_.count(), size = kTogether * count;
    if (!axis_.extent.is_constant()) {
      sums_.clear();
      Value* end = ir.CreateAnd(f_.dim(axis_.extent), f_.i64(-size));
      f_.for_loop(f_.i64(0), end, f_.i64(size), [&](Value* begin) { block(begin, count, kTogether, more); });
      return end;
    }
    const int64_t extent = axis_.extent.constant(), rows = extent / count, first = std::min(rows, kTogether);
    if (sums_.reads_all() ? rows == 0 : extent == 0) sums_.clear();
    block(f_.i64(0), std::min(extent, count), std::max<int64_t>(first, 1),
          [&](Value* number, int each, const auto& element) { sums_.begin(number, each, element); });
    if (rows == 0) return f_.i64(extent);
    const int64_t last = first + (rows - first) / kTogether * kTogether;
    f_.for_loop(f_.i64(first * count), f_.i64(last * count), f_.i64(size),
                [&](Value* begin) { block(begin, count, kTogether, more); });
    if (last < rows) block(f_.i64(last * count), count, rows - last, more);
    return f_.i64(rows * count);
  }

 private:
  static constexpr int64_t kTogether = 4;

  /// Adds `each` elements, from element `begin` on, to each of the first `numbers` sums.
  template <class Add>
  void block(Value* begin, int64_t numbers, int64_t each, const Add& add) {
    f_.for_loop(f_.i64(0), f_.i64(numbers), f_.i64(1), [&](Value* number) {
      Value* first = f_.ir().CreateAdd(begin, number);
      add(number, static_cast<int>(each), [&, first](int k) {
        at_(axis_, f_.ir().CreateAdd(first, f_.i64(int64_t{k} * sums_.count())));
        return element_();
      });
    });
  }

  FunctionBuilder& f_;
  const Axis& axis_;
  PartialSums& sums_;
  const SetAxis& at_;
  const Element& element_;
};

/// Emits loops over the axes from `k` on, whose first element has number `number`. Returns the number after the last
/// element.
Value* add_all(FunctionBuilder& f, const std::vector<Axis>& axes, size_t k, Value* number, PartialSums& sums,
               const SetAxis& at, const Element& element) {
  if (k == axes.size()) {
    sums.add(number, element());
    return f.ir().CreateAnd(f.ir().CreateAdd(number, f.i64(1)), f.i64(sums.count() - 1));
  }
  return f.for_loop(f.i64(0), f.dim(axes[k].extent), f.i64(1), {number}, [&](Value* i, const Values& carried) {
    at(axes[k], i);
    return Values{add_all(f, axes, k + 1, carried[0], sums, at, element)};
  })[0];
}

}  // namespace

PartialSums::PartialSums(FunctionBuilder& f, ReduceOp op, DType dtype, int lanes)
    : f_(f), op_(op), dtype_(dtype), lanes_(lanes), count_(partial_sum_count(dtype)) {
  memory_ = f_.take_memory(int64_t{count_} * lanes * size_of(dtype));
}

PartialSums::~PartialSums() { f_.give_memory(memory_); }

Value* PartialSums::at(Value* number) { return lanes_ == 1 ? number : f_.ir().CreateMul(number, f_.i64(lanes_)); }

void PartialSums::clear() {
  Value* identity = identity_of(f_, op_, dtype_);
  if (lanes_ == 1) return set_vector(f_.splat(identity, count_));
  f_.for_loop(f_.i64(0), f_.i64(count_), f_.i64(1),
              [&](Value* number) { f_.store(f_.splat(identity, lanes_), memory_, dtype_, at(number)); });
}

void PartialSums::add(Value* number, Value* v, Value* mask) {
  Value* offset = at(number);
  Value* sum = f_.load(memory_, dtype_, offset, FunctionBuilder::lanes_of(v));
  Value* next = emit_combine(f_, op_, dtype_, sum, v);
  f_.store(mask == nullptr ? next : f_.ir().CreateSelect(mask, next, sum), memory_, dtype_, offset);
}

void PartialSums::add(Value* number, int count, const std::function<Value*(int)>& element) {
  Value* offset = at(number);
  add_to(f_.load(memory_, dtype_, offset, lanes_), offset, count, element);
}

void PartialSums::begin(Value* number, int count, const std::function<Value*(int)>& element) {
  add_to(f_.splat(identity_of(f_, op_, dtype_), lanes_), at(number), count, element);
}

void PartialSums::add_to(Value* sum, Value* offset, int count, const std::function<Value*(int)>& element) {
  for (int k = 0; k < count; ++k) sum = emit_combine(f_, op_, dtype_, sum, element(k));
  f_.store(sum, memory_, dtype_, offset);
}

Value* PartialSums::vector() { return f_.load(memory_, dtype_, f_.i64(0), count_); }

void PartialSums::set_vector(Value* sums) { f_.store(sums, memory_, dtype_, f_.i64(0)); }

/// Folds `lanes` results from lane `lane` on: combines partial sum `number` with the sums that are added to it, while
/// more than `width` are left.
Value* PartialSums::fold(Value* lane, int lanes, int number, int width, int64_t begun) {
  if (width == count_) return f_.load(memory_, dtype_, f_.ir().CreateAdd(at(f_.i64(number)), lane), lanes);
  Value* sum = fold(lane, lanes, number, 2 * width, begun);
  if (number + width >= begun) return sum;
  return emit_combine(f_, op_, dtype_, sum, fold(lane, lanes, number + width, 2 * width, begun));
}

Value* PartialSums::total(int64_t begun) {
  if (lanes_ == 1) return emit_horizontal(f_, op_, dtype_, vector());
  const int native = std::min(lanes_, static_cast<int>(f_.target().vector_bytes / size_of(dtype_)));
  f_.for_loop(f_.i64(0), f_.i64(lanes_), f_.i64(native),
              [&](Value* lane) { f_.store(fold(lane, native, 0, 1, begun), memory_, dtype_, lane); });
  return f_.load(memory_, dtype_, f_.i64(0), lanes_);
}

Value* reduce_in_order(FunctionBuilder& f, ReduceOp op, const Expr& body, int lanes, const std::vector<Axis>& axes,
                       const SetAxis& at, const Element& element) {
  const DType dtype = body->dtype;
  const int64_t size = window_size(axes);
  Value* identity = f.splat(identity_of(f, op, dtype), lanes);
  // Combining with the identity turns -0 into 0, as in partial sums that start with the identity.
  if (size > 0) return emit_combine(f, op, dtype, identity, Window(f, op, dtype, axes, at, element, size).total(0, 1));
  PartialSums sums(f, op, dtype, lanes);
  int64_t begun = sums.count();  // at least
  if (axes.size() == 1 && is_plain(body)) {
    Value* begin = UnrolledAdder(f, axes[0], sums, at, element).add();
    if (axes[0].extent.is_constant()) begun = axes[0].extent.constant();
    f.for_loop(begin, f.dim(axes[0].extent), f.i64(1), [&](Value* i) {
      at(axes[0], i);
      sums.add(f.ir().CreateAnd(i, f.i64(sums.count() - 1)), element());
    });
  } else {
    sums.clear();
    add_all(f, axes, 0, f.i64(0), sums, at, element);
  }
  return sums.total(begun);
}

int64_t window_size(const std::vector<Axis>& axes) {
  constexpr int64_t kLongest = 16, kLargest = 36;
  int64_t size = 1;
  for (const Axis& axis : axes) {
    if (!axis.extent.is_constant() || axis.extent.constant() > kLongest) return 0;
    size *= axis.extent.constant();
  }
  return size <= kLargest ? size : 0;
}

}  // namespace gcg::cpu
