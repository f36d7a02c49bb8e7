// gart.EqualSlices: finds equal slices of a matrix, for Unique.
//
//   EqualSlices(x [N, M]) -> first i64 [N], rank i64 [N]
//
// Slice i is a row. first[i] is the number of the first slice equal to it. rank[i] is the number of distinct slices
// before it in ascending (lexicographical) order. NaN is the largest number and equals itself.
#include <algorithm>
#include <numeric>

#include "compiler/ops/expansion.h"
#include "compiler/ops/launches.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/program_builder.h"
#include "compiler/ops/top_k_program.h"

namespace gcg {
namespace {

void infer_equal_slices(InferContext& ctx) {
  if (ctx.rank(0) != 2) ctx.fail("the slices must be rows of a matrix");
  for (const int output : {0, 1}) ctx.set_output(output, DType::i64, {ctx.shape(0)[0]});
}

Expr less(const Expr& a, const Expr& b) { return binary(BinaryOp::less, a, b); }

class EqualSlices {
 public:
  explicit EqualSlices(ProgramBuilder& p) : p_(p), rows_(p.input_shape(0)[0]), columns_(p.input_shape(0)[1]) {}

  void run() {
    const Expr before = p_.variable(index(0)), rank = p_.variable(index(-1)), first = p_.variable(index(0));
    in_order([&](const Expr& at, const Expr& row) {
      const Expr is_new = p_.variable(boolean(true));
      p_.branch(less(index(0), at),
                [&] { p_.set(is_new, binary(BinaryOp::not_equal, order_of(before, row), index(0))); });
      p_.branch(is_new, [&] {
        p_.set(rank, rank + index(1));
        p_.set(first, row);
      });
      p_.store(0, {row}, first);
      p_.store(1, {row}, rank);
      p_.set(before, row);
    });
  }

 private:
  using Visit = std::function<void(const Expr& at, const Expr& row)>;

  Expr element(const Expr& row, const Expr& column) {
    const Expr x = p_.input(0, {row, column});
    return x->dtype == DType::boolean ? cast(DType::u8, x) : x;
  }

  /// Calls `visit` for the rows in ascending order; among equal rows, the first one comes first.
  void in_order(const Visit& visit) {
    if (columns_.is(1))
      return select_best(
          p_, rows_, rows_, [&](const Expr& i) { return element(i, index(0)); }, false,
          [&](const Expr& at, const Expr& place) { visit(at, p_.let(place)); });
    const ProgramBuilder::Array sorted = merge_sorted();
    p_.loop(rows_, [&](const Expr& at) { visit(at, p_.let(p_.at(sorted, at))); });
  }

  /// -1, 0, 1: row a comes before row b, equals it, or comes after it.
  Expr order_of(const Expr& a, const Expr& b) {
    const Expr order = p_.variable(index(0)), column = p_.variable(index(0));
    p_.loop_while(both(binary(BinaryOp::equal, order, index(0)), less(column, extent(columns_))), [&] {
      const Expr x = p_.let(element(a, column)), y = p_.let(element(b, column));
      p_.set(order, select(precedes(x, y), index(-1), select(precedes(y, x), index(1), index(0))));
      p_.set(column, column + index(1));
    });
    return order;
  }
  static Expr both(const Expr& a, const Expr& b) { return binary(BinaryOp::logical_and, a, b); }
  static Expr precedes(const Expr& x, const Expr& y) {
    if (!is_float(x->dtype)) return less(x, y);
    const Expr only_y_is_nan = both(unary(UnaryOp::is_nan, y), unary(UnaryOp::logical_not, unary(UnaryOp::is_nan, x)));
    return binary(BinaryOp::logical_or, less(x, y), only_y_is_nan);
  }

  /// The rows' numbers in sorted order: a merge sort that doubles the run length in each pass. Each pass merges from
  /// one array into the other and copies back.
  ProgramBuilder::Array merge_sorted() {
    const ProgramBuilder::Array from = p_.array(DType::i64, rows_), to = p_.array(DType::i64, rows_);
    const Expr n = extent(rows_), run = p_.variable(index(1));
    p_.each(rows_, [&](const Expr& i) { p_.put(from, i, i); });
    p_.loop_while(less(run, n), [&] {
      const Expr begin = p_.variable(index(0));
      p_.loop_while(less(begin, n), [&] {
        merge(from, to, begin, run);
        p_.set(begin, begin + run + run);
      });
      p_.each(rows_, [&](const Expr& i) { p_.put(from, i, p_.at(to, i)); });
      p_.set(run, run + run);
    });
    return from;
  }

  void merge(const ProgramBuilder::Array& from, const ProgramBuilder::Array& to, const Expr& begin, const Expr& run) {
    const Expr n = extent(rows_);
    const Expr middle = p_.let(binary(BinaryOp::min, begin + run, n)),
               end = p_.let(binary(BinaryOp::min, begin + run + run, n));
    const Expr left = p_.variable(begin), right = p_.variable(middle), out = p_.variable(begin);
    p_.loop_while(less(out, end), [&] {
      const Expr takes_left = p_.variable(less(left, middle));
      p_.branch(both(takes_left, less(right, end)), [&] {
        const Expr a = p_.let(p_.at(from, left)), b = p_.let(p_.at(from, right));
        p_.set(takes_left, binary(BinaryOp::less_equal, order_of(a, b), index(0)));
      });
      p_.branch(
          takes_left,
          [&] {
            p_.put(to, out, p_.at(from, left));
            p_.set(left, left + index(1));
          },
          [&] {
            p_.put(to, out, p_.at(from, right));
            p_.set(right, right + index(1));
          });
      p_.set(out, out + index(1));
    });
  }

  ProgramBuilder& p_;
  Dim rows_, columns_;
};

void program_equal_slices(ProgramBuilder& p) { EqualSlices(p).run(); }

/// Sorts the rows by their columns, from the last to the first, then numbers them.
class EqualSlicesLaunches {
 public:
  explicit EqualSlicesLaunches(ProgramBuilder& p)
      : p_(p),
        rows_(p.input_shape(0)[0]),
        columns_(p.input_shape(0)[1]),
        sorted_(p.array(DType::i32, rows_)),
        spare_(p.array(DType::i32, rows_)),
        new_(p.array(DType::i32, rows_)) {}

  void run() {
    p_.shared_launch({Dim(1)}, [&](const std::vector<Expr>&) { columns_.is(1) ? sort_elements() : sort_rows(); });
    p_.launch({rows_}, [&](const std::vector<Expr>& task) { find_new(task[0]); });
    p_.shared_launch({Dim(1)}, [&](const std::vector<Expr>&) { give(); });
  }

 private:
  Expr key(const Expr& row, const Expr& column) {
    const Expr x = p_.input(0, {row, column});
    return ascending_key(x->dtype == DType::boolean ? cast(DType::u8, x) : cast(arithmetic_dtype(x->dtype), x));
  }
  Expr row(const ProgramBuilder::Array& array, const Expr& at) { return cast(DType::i64, p_.at(array, at)); }

  void sort_elements() {
    p_.order(sorted_, spare_, index(0), rows_, extent(rows_), [&](const Expr& i) { return key(i, index(0)); });
  }

  void sort_rows() {
    const ProgramBuilder::Array order = p_.array(DType::i32, rows_);
    p_.each(rows_, [&](const Expr& i) { p_.put(sorted_, i, cast(DType::i32, i)); });
    p_.loop(columns_, [&](const Expr& c) {
      p_.order(order, spare_, index(0), rows_, extent(rows_),
               [&](const Expr& i) { return key(row(sorted_, i), extent(columns_ - Dim(1)) - c); });
      p_.each(rows_, [&](const Expr& i) { p_.put(spare_, i, p_.at(sorted_, row(order, i))); });
      p_.each(rows_, [&](const Expr& i) { p_.put(sorted_, i, p_.at(spare_, i)); });
    });
  }

  /// Finds whether the row at this position differs from the previous one.
  void find_new(const Expr& at) {
    const Expr is_new = p_.variable(binary(BinaryOp::equal, at, index(0))), column = p_.variable(index(0));
    p_.branch(unary(UnaryOp::logical_not, is_new), [&] {
      const Expr mine = p_.let(row(sorted_, at)), last = p_.let(row(sorted_, at - index(1)));
      p_.loop_while(both(unary(UnaryOp::logical_not, is_new), less(column, extent(columns_))), [&] {
        p_.set(is_new, binary(BinaryOp::not_equal, key(mine, column), key(last, column)));
        p_.set(column, column + index(1));
      });
    });
    p_.put(new_, at, cast(DType::i32, is_new));
  }

  void give() {
    p_.scan(
        ReduceOp::sum, rows_, index(-1), [&](const Expr& i) { return cast(DType::i64, p_.at(new_, i)); },
        [&](const Expr& i, const Expr& here, const Expr& before) { p_.store(1, {row(sorted_, i)}, before + here); });
    p_.scan(
        ReduceOp::max, rows_, index(0),
        [&](const Expr& i) {
          return select(binary(BinaryOp::equal, p_.at(new_, i), constant_int(DType::i32, 1)), i, index(0));
        },
        [&](const Expr& i, const Expr& here, const Expr& before) {
          p_.store(0, {row(sorted_, i)}, row(sorted_, binary(BinaryOp::max, before, here)));
        });
  }

  static Expr both(const Expr& a, const Expr& b) { return binary(BinaryOp::logical_and, a, b); }

  ProgramBuilder& p_;
  Dim rows_, columns_;
  ProgramBuilder::Array sorted_, spare_, new_;
};

}  // namespace

void launches_equal_slices(ProgramBuilder& p) { EqualSlicesLaunches(p).run(); }

namespace {

template <class T>
std::vector<Tensor> slices_compared(const Tensor& x) {
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  const auto row = [&](int64_t r) {
    std::vector<T> out;
    for (int64_t c = 0; c < columns; ++c) out.push_back(get<T>(x, r * columns + c));
    return out;
  };
  const auto precedes = [](T a, T b) { return a < b || (b != b && a == a); };
  const auto before = [&](const std::vector<T>& a, const std::vector<T>& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), precedes);
  };
  Tensor first(DType::i64, {rows}), rank(DType::i64, {rows});
  for (int64_t i = 0; i < rows; ++i) {
    int64_t equal = i, smaller = 0;
    for (int64_t k = 0; k < rows; ++k) {
      const bool is_less = before(row(k), row(i));
      if (!is_less && !before(row(i), row(k))) equal = std::min(equal, k);
      bool is_first = true;  // k is the first of the rows equal to it
      for (int64_t j = 0; j < k && is_first; ++j) is_first = before(row(j), row(k)) || before(row(k), row(j));
      smaller += is_less && is_first ? 1 : 0;
    }
    first.set_int(i, equal);
    rank.set_int(i, smaller);
  }
  return {first, rank};
}

std::vector<Tensor> reference_equal_slices(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  return with_number_type(x.dtype(), [&]<class T>() { return slices_compared<T>(x); });
}

}  // namespace

constinit const OpDef op_gart_EqualSlices{.name = "EqualSlices",
                                          .domain = "gart",
                                          .min_inputs = 1,
                                          .max_inputs = 1,
                                          .min_outputs = 2,
                                          .max_outputs = 2,
                                          .kind = OpKind::program,
                                          .infer = infer_equal_slices,
                                          .program = program_equal_slices,
                                          .reference = reference_equal_slices};

}  // namespace gcg
