// TopK as statements. An element becomes a key: an unsigned integer that is smaller for better elements. Among equal
// keys, the lower position is better. There are four methods:
// * A few of a short line: one vectorised pass per result, over the elements that are worse than the previous one.
// * Few of many: a heap of the best so far, with the worst on top. Blocks of elements are compared with the top at
//   once.
// * Up to half of the line: bisects the range of keys to find the worst one; each step counts elements in vectors. Then
//   sorts the elements up to it.
// * Otherwise: radix-sorts all elements, least significant digit first.
// If nothing reads the positions, keys are sorted alone, because an element follows from its key.
#include "compiler/ops/top_k_program.h"

#include "compiler/ops/op_support.h"

namespace gcg {

Expr ascending_key(const Expr& x) {
  const DType t = x->dtype;
  const bool wide = size_of(t) == 8;
  const DType key = wide ? DType::u64 : DType::u32;
  if (is_unsigned_int(t) || t == DType::boolean) return cast(key, x);
  const Expr sign = binary(BinaryOp::shift_left, constant_int(key, 1), constant_int(key, wide ? 63 : 31));
  if (!is_float(t)) return binary(BinaryOp::bit_xor, cast(key, wide ? x : cast(DType::i32, x)), sign);
  const Expr bits = unary(UnaryOp::bits, x + number(t, 0));  // -0 + 0 is 0
  const Expr negative = binary(BinaryOp::not_equal, binary(BinaryOp::bit_and, bits, sign), constant_int(key, 0));
  const Expr ordered = select(negative, unary(UnaryOp::bit_not, bits), binary(BinaryOp::bit_or, bits, sign));
  return select(unary(UnaryOp::is_nan, x), constant_int(key, -1), ordered);
}

Expr element_of_key(const Expr& key, DType t) {
  if (is_unsigned_int(t) || t == DType::boolean) return cast(t, key);
  const Expr sign = binary(BinaryOp::shift_left, constant_int(key->dtype, 1),
                           constant_int(key->dtype, key->dtype == DType::u64 ? 63 : 31));
  if (!is_float(t)) return cast(t, binary(BinaryOp::bit_xor, key, sign));
  const Expr positive = binary(BinaryOp::not_equal, binary(BinaryOp::bit_and, key, sign), constant_int(key->dtype, 0));
  return unary(UnaryOp::of_bits, select(positive, binary(BinaryOp::bit_xor, key, sign), unary(UnaryOp::bit_not, key)));
}

namespace {

constexpr int64_t kBlock = 64;  // number of elements that are compared at once with the heap's worst element
constexpr int64_t kDigits = 256;
constexpr int64_t kShortLine = 256;  // up to this length, a heap sorts faster than a radix sort
constexpr int64_t kFewPasses = 8;    // up to this k, passes over a short line are faster than its heap

Expr less(const Expr& a, const Expr& b) { return binary(BinaryOp::less, a, b); }
Expr either(const Expr& a, const Expr& b) { return binary(BinaryOp::logical_or, a, b); }
Expr equal(const Expr& a, const Expr& b) { return binary(BinaryOp::equal, a, b); }

/// The data that is kept per element of the line.
enum class ItemLayout : uint8_t {
  shared,  // a 64-bit word: the 32-bit key, then the position
  apart,   // a 64-bit key, and the position
  alone,   // only the key
};

/// An element of the line; `place` is null if the key is the whole word.
struct Item {
  Expr key, place;
};

class Selection {
 public:
  Selection(ProgramBuilder& p, Dim n, Dim k, LineElement element, bool largest, bool places)
      : p_(p),
        n_(std::move(n)),
        k_(std::move(k)),
        element_(std::move(element)),
        largest_(largest),
        dtype_(element_(index(0))->dtype),
        key_dtype_(key(index(0))->dtype),
        wide_(key_dtype_ == DType::u64),
        item_layout_(!places ? ItemLayout::alone
                     : wide_ ? ItemLayout::apart
                             : ItemLayout::shared) {}

  /// Finds the best elements. `store` gets ranks, with positions or elements.
  void run(const std::function<void(const Expr& rank, const Expr& found)>& store) {
    const Expr is_short = at_most(n_, kShortLine);
    const Expr few = either(is_short, up_to_one_in(8)), half = up_to_one_in(2);
    items_ = items(k_);
    const auto give = [&](const Items& from) { p_.loop(k_, [&](const Expr& r) { store(r, found(get(from, r))); }); };
    const auto by_heap = [&] {
      p_.branch(less(index(0), extent(k_)), [&] { select_few(); });
      give(items_);
    };
    const auto by_digits = [&] { choose(half, [&] { give(sort_best()); }, [&] { give(sort_all()); }); };
    const auto by_heap_or_digits = [&] { choose(few, by_heap, by_digits); };
    const bool are_few = k_.is_constant() && k_.constant() <= kFewPasses;
    if (item_layout_ != ItemLayout::shared || !are_few) return by_heap_or_digits();
    const auto by_passes = [&] { select_by_passes([&](const Expr& r, const Item& best) { store(r, found(best)); }); };
    choose(is_short, by_passes, by_heap_or_digits);
  }

 private:
  struct Items {
    ProgramBuilder::Array keys, places;
  };

  static Expr at_most(const Dim& count, int64_t limit) {
    return binary(BinaryOp::less_equal, extent(count), index(limit));
  }
  /// True if k is at most n / parts.
  Expr up_to_one_in(int64_t parts) const { return binary(BinaryOp::less_equal, extent(k_ * Dim(parts)), extent(n_)); }
  /// Writes a branch. If the condition is a constant, only the side that it selects is written.
  void choose(const Expr& condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
    if (condition->kind != ExprKind::constant) return p_.branch(condition, then, otherwise);
    condition->integer != 0 ? then() : otherwise();
  }

  Expr key(const Expr& i) const {
    const Expr k = ascending_key(element_(i));
    return largest_ ? unary(UnaryOp::bit_not, k) : k;
  }
  Items items(const Dim& count) {
    const ProgramBuilder::Array keys = p_.array(item_layout_ == ItemLayout::alone ? key_dtype_ : DType::u64, count);
    return {keys, item_layout_ == ItemLayout::apart ? p_.array(DType::i64, count) : keys};
  }
  Item item_of(const Expr& k, const Expr& i) const {
    if (item_layout_ != ItemLayout::shared) return {k, item_layout_ == ItemLayout::apart ? i : nullptr};
    const Expr high = binary(BinaryOp::shift_left, cast(DType::u64, k), constant_int(DType::u64, 32));
    return {binary(BinaryOp::bit_or, high, cast(DType::u64, i)), nullptr};
  }
  Item get(const Items& from, const Expr& i) const {
    return {p_.at(from.keys, i), item_layout_ == ItemLayout::apart ? p_.at(from.places, i) : nullptr};
  }
  void put(const Items& to, const Expr& i, const Item& item) {
    p_.put(to.keys, i, item.key);
    if (item_layout_ == ItemLayout::apart) p_.put(to.places, i, item.place);
  }
  Item let(const Item& item) { return {p_.let(item.key), item.place != nullptr ? p_.let(item.place) : nullptr}; }
  Item variable(const Item& item) {
    return {p_.variable(item.key), item.place != nullptr ? p_.variable(item.place) : nullptr};
  }
  Expr found(const Item& item) const {
    if (item_layout_ == ItemLayout::alone)
      return element_of_key(largest_ ? unary(UnaryOp::bit_not, item.key) : item.key, dtype_);
    if (item_layout_ == ItemLayout::apart) return item.place;
    return cast(DType::i64, binary(BinaryOp::bit_and, item.key, constant_int(DType::u64, 0xffffffff)));
  }
  Expr before(const Item& a, const Item& b) const {
    if (item_layout_ != ItemLayout::apart) return less(a.key, b.key);
    return either(less(a.key, b.key), both(equal(a.key, b.key), less(a.place, b.place)));
  }

  /// Moves an item down from `hole` in the heap of `size` items, until no child is worse than its parent.
  void sift(const Expr& from, const Expr& size, const Item& item) {
    const Expr hole = p_.variable(from), child = p_.variable(hole + hole + index(1));
    p_.loop_while(less(child, size), [&] {
      const Expr sibling = binary(BinaryOp::min, child + index(1), size - index(1));
      p_.set(child, select(before(get(items_, child), get(items_, sibling)), sibling, child));
      const Item below = let(get(items_, child));
      p_.branch(
          before(item, below),
          [&] {
            put(items_, hole, below);
            p_.set(hole, child);
            p_.set(child, hole + hole + index(1));
          },
          [&] { p_.set(child, size); });
    });
    put(items_, hole, item);
  }

  /// Puts the best k of the line into items_, in order. Requires: k > 0.
  void select_few() {
    const Expr k = extent(k_);
    p_.loop(k_, [&](const Expr& i) { put(items_, i, item_of(key(i), i)); });
    p_.loop(k_, [&](const Expr& turn) {
      const Expr parent = p_.let(k - index(1) - turn);
      p_.branch(less(parent + parent + index(1), k), [&] { sift(parent, k, let(get(items_, parent))); });
    });
    replace_worse();
    p_.loop(k_, [&](const Expr& turn) {
      const Expr last = p_.let(k - index(1) - turn);
      const Item item = let(get(items_, last)), worst = let(get(items_, index(0)));
      put(items_, last, worst);
      p_.branch(less(index(0), last), [&] { sift(index(0), last, item); });
    });
  }

  /// All words are distinct, so the next one is the least word above the previous one.
  void select_by_passes(const std::function<void(const Expr& rank, const Item& best)>& store) {
    const Items line = items(n_);
    p_.each(n_, [&](const Expr& i) { put(line, i, item_of(key(i), i)); });
    const Expr least = p_.variable(constant_int(DType::u64, 0));
    p_.loop(k_, [&](const Expr& rank) {
      const Expr best = p_.fold(ReduceOp::min, n_, [&](const Expr& i) {
        const Expr word = p_.at(line.keys, i);
        return select(less(word, least), constant_int(DType::u64, -1), word);
      });
      store(rank, {best, nullptr});
      p_.set(least, best + constant_int(DType::u64, 1));
    });
  }

  /// Each element after the first k that is better than the heap's worst replaces it. An element with the same key is
  /// worse, because its position is higher.
  void replace_worse() {
    const Expr k = extent(k_), worst = p_.variable(worst_key());
    p_.loop(ceil_div(n_ - k_, Dim(kBlock)), [&](const Expr& block) {
      const Expr begin = p_.let(k + block * index(kBlock));
      const Expr end = p_.let(binary(BinaryOp::min, begin + index(kBlock), extent(n_)));
      const Expr best =
          p_.fold(ReduceOp::min, Range(index(0), end - begin, kBlock), [&](const Expr& i) { return key(begin + i); });
      p_.branch(less(best, worst), [&] {
        p_.loop(Range(index(0), end - begin, kBlock), [&](const Expr& i) {
          const Expr here = p_.let(key(begin + i));
          p_.branch(less(here, worst), [&] {
            sift(index(0), k, let(item_of(here, begin + i)));
            p_.set(worst, worst_key());
          });
        });
      });
    });
  }
  Expr worst_key() const {
    const Expr top = p_.at(items_.keys, index(0));
    return item_layout_ != ItemLayout::shared
               ? top
               : cast(DType::u32, binary(BinaryOp::shift_right, top, constant_int(DType::u64, 32)));
  }

  /// Finds a key such that at least k keys are at most it, and at most k keys are below it. Requires: k > 0.
  Expr find_worst(const ProgramBuilder::Array& keys) {
    const Expr low = p_.variable(constant_int(key_dtype_, 0)), high = p_.variable(constant_int(key_dtype_, -1));
    const Expr one = constant_int(key_dtype_, 1), k = p_.let(cast(DType::i32, extent(k_)));
    p_.loop_while(less(low, high), [&] {
      const Expr middle = p_.let(low + binary(BinaryOp::shift_right, high - low, one));
      const Expr count = count_keys(keys, BinaryOp::less_equal, middle);
      p_.set(low, select(less(count, k), middle + one, select(equal(count, k), middle, low)));
      p_.set(high, select(less(count, k), high, middle));
    });
    return low;
  }
  Expr count_keys(const ProgramBuilder::Array& keys, BinaryOp compare, const Expr& limit) {
    const Expr one = constant_int(DType::i32, 1), none = constant_int(DType::i32, 0);
    return p_.fold(ReduceOp::sum, n_,
                   [&](const Expr& i) { return select(binary(compare, p_.at(keys, i), limit), one, none); });
  }

  /// Returns the best k, sorted by their keys. Requires: the line has at least k further elements.
  Items sort_best() {
    const ProgramBuilder::Array keys = p_.array(key_dtype_, n_);
    // The next element overwrites an element that is not among the best k. The last one may stay in the extra slot
    // behind them.
    const Items best = items(k_ + Dim(1)), other = items(k_);
    p_.branch(less(index(0), extent(k_)), [&] {
      p_.each(n_, [&](const Expr& i) { p_.put(keys, i, key(i)); });
      const Expr worst = find_worst(keys), count = p_.variable(index(0));
      const Expr ties = p_.variable(extent(k_) - cast(DType::i64, count_keys(keys, BinaryOp::less, worst)));
      const auto number = [](const Expr& condition) { return select(condition, index(1), index(0)); };
      p_.loop(n_, [&](const Expr& i) {
        const Expr here = p_.let(p_.at(keys, i));
        const Expr is_tie = p_.let(both(equal(here, worst), less(index(0), ties)));
        put(best, count, item_of(here, i));
        p_.set(count, count + number(either(less(here, worst), is_tie)));
        p_.set(ties, ties - number(is_tie));
      });
    });
    return sort(best, other, k_);
  }

  /// Returns all elements, sorted by their keys.
  Items sort_all() {
    const Items all = items(n_), other = items(n_);
    p_.loop(n_, [&](const Expr& i) { put(all, i, item_of(key(i), i)); });
    return sort(all, other, n_);
  }

  /// Returns `count` items sorted by their keys. `other` is memory for as many items. Digits that are equal in all keys
  /// are skipped.
  Items sort(const Items& from, const Items& to, const Dim& count) {
    const int digits = wide_ ? 8 : 4, skipped = item_layout_ == ItemLayout::shared ? 4 : 0;
    const ProgramBuilder::Array counts = p_.array(DType::i64, Dim(kDigits * digits));
    p_.each(Dim(kDigits * digits), [&](const Expr& d) { p_.put(counts, d, index(0)); });
    p_.loop(count, [&](const Expr& i) {
      const Expr k = p_.let(p_.at(from.keys, i));
      for (int d = 0; d < digits; ++d) {
        const Expr slot = p_.let(digit(k, d + skipped) + index(d * kDigits));
        p_.put(counts, slot, p_.at(counts, slot) + index(1));
      }
    });
    const Expr swapped = p_.variable(boolean(false));
    for (int d = 0; d < digits; ++d) {
      const Expr first = p_.let(digit(p_.at(from.keys, index(0)), d + skipped) + index(d * kDigits));
      p_.branch(binary(BinaryOp::not_equal, p_.at(counts, first), extent(count)), [&] {
        const Expr sum = p_.variable(index(0));
        p_.loop(Dim(kDigits), [&](const Expr& i) {
          const Expr here = p_.let(p_.at(counts, i + index(d * kDigits)));
          p_.put(counts, i + index(d * kDigits), sum);
          p_.set(sum, sum + here);
        });
        const auto move = [&](const Items& a, const Items& b) { distribute(a, b, counts, count, d, d + skipped); };
        p_.branch(swapped, [&] { move(to, from); }, [&] { move(from, to); });
        p_.set(swapped, unary(UnaryOp::logical_not, swapped));
      });
    }
    p_.branch(swapped, [&] { p_.loop(k_, [&](const Expr& i) { put(from, i, get(to, i)); }); });
    return from;
  }
  static Expr digit(const Expr& k, int d) {
    const Expr shifted = binary(BinaryOp::shift_right, k, constant_int(k->dtype, int64_t{8} * d));
    return cast(DType::i64, binary(BinaryOp::bit_and, shifted, constant_int(k->dtype, kDigits - 1)));
  }
  /// One pass: moves the items to the positions in `counts` for digit d.
  void distribute(const Items& from, const Items& to, const ProgramBuilder::Array& counts, const Dim& count, int d,
                  int shift) {
    p_.loop(count, [&](const Expr& i) {
      const Item item = let(get(from, i));
      const Expr slot = p_.let(digit(item.key, shift) + index(d * kDigits)), place = p_.let(p_.at(counts, slot));
      put(to, place, item);
      p_.put(counts, slot, place + index(1));
    });
  }

  ProgramBuilder& p_;
  Dim n_, k_;
  LineElement element_;
  bool largest_;
  DType dtype_, key_dtype_;
  bool wide_;
  ItemLayout item_layout_;
  Items items_{};
};

}  // namespace

void select_best(ProgramBuilder& p, const Dim& n, const Dim& k, const LineElement& element, bool largest,
                 const std::function<void(const Expr&, const Expr&)>& store) {
  Selection(p, n, k, element, largest, true).run(store);
}

void select_best_values(ProgramBuilder& p, const Dim& n, const Dim& k, const LineElement& element, bool largest,
                        const std::function<void(const Expr&, const Expr&)>& store) {
  Selection(p, n, k, element, largest, false).run(store);
}

}  // namespace gcg
