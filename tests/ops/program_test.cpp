// Operators that run as programs (compiler/kernel/program.h), at sizes for which each method is chosen.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/support/error.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Attributes = std::map<std::string, Attribute>;

/// Numbers in random order, many of them equal.
Tensor unordered(DType dtype, std::vector<int64_t> shape, int64_t different) {
  Tensor t(dtype, std::move(shape));
  uint64_t state = 88172645463325252ULL;
  for (int64_t i = 0; i < t.elements(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const auto v = static_cast<int64_t>(state >> 33) % different - (is_unsigned_int(dtype) ? 0 : different / 2);
    if (is_float(dtype) || is_small_float(dtype))
      t.set_double(i, static_cast<double>(v) / 16);
    else
      t.set_int(i, v);
  }
  return t;
}

void check_top_k(const Tensor& x, int64_t k, int64_t axis, int64_t largest) {
  OpCase row = {concat("k ", k, ", axis ", axis, ", largest ", largest), "TopK", {data(x), known_ints({k})}};
  row.attributes = {{"axis", axis}, {"largest", largest}};
  for (row.outputs = 1; row.outputs <= 2; ++row.outputs) check_op(row);
}

TEST(Programs, TopKOfFewAndOfAll) {
  for (int64_t largest : {0, 1}) {
    for (const DType t : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::i8, DType::f16}) {
      const Tensor x = unordered(t, {2, 700}, t == DType::u8 || t == DType::i8 ? 100 : 300);
      check_top_k(x, 1, 1, largest);
      check_top_k(x, 20, 1, largest);   // few elements of a long line: uses a heap
      check_top_k(x, 700, 1, largest);  // all elements: uses a radix sort
    }
    check_top_k(unordered(DType::f32, {130, 3}, 1 << 20), 130, 0, largest);
    check_top_k(unordered(DType::u64, {300, 2}, int64_t{1} << 30), 290, 0, largest);
    check_top_k(unordered(DType::f32, {1, 300}, 1), 300, 1, largest);  // all equal
  }
}

TEST(Programs, TopKOfAFewOfAShortLine) {
  for (int64_t largest : {0, 1}) {
    for (const DType t : {DType::f32, DType::f64, DType::i32, DType::u8, DType::f16}) {
      check_top_k(unordered(t, {9, 64}, 20), 2, 1, largest);  // uses passes over the elements, some of which are equal
      check_top_k(unordered(t, {8, 5}, 3), 8, 0, largest);    // all elements of a line
      check_top_k(unordered(t, {3, 256}, 1 << 20), 9, 1, largest);
    }
    check_top_k(unordered(DType::f32, {2, 3}, 9), 0, 1, largest);
    Tensor x = f32({4}, {std::nan(""), -HUGE_VAL, std::nan(""), -0.0});
    for (int64_t k : {1, 4}) check_top_k(x, k, 0, largest);
  }
}

/// For more than a few and less than most elements of a line, the program selects all elements up to the key of the
/// worst requested one. More elements than requested may have this key.
TEST(Programs, TopKOfUpToHalfOfALine) {
  for (int64_t largest : {0, 1}) {
    for (const DType t :
         {DType::f32, DType::f64, DType::i64, DType::u64, DType::i32, DType::u8, DType::i8, DType::f16}) {
      const Tensor x = unordered(t, {2, 700}, t == DType::u8 || t == DType::i8 ? 100 : 300);
      for (int64_t k : {88, 200, 350}) check_top_k(x, k, 1, largest);
    }
    for (int64_t k : {100, 257}) {
      check_top_k(unordered(DType::f32, {3, 515}, 1 << 20), k, 1, largest);  // hardly any equals
      check_top_k(unordered(DType::f32, {2, 515}, 1), k, 1, largest);        // all equal
    }
  }
}

TEST(Programs, ExtremesOfAllElements) {
  const auto row = [](const char* what, Tensor x) {
    OpCase found = {what, "Extremes", {data(std::move(x))}};
    found.outputs = 2;
    found.domain = "gart";
    return found;
  };
  for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16})
    check_op(row("few", unordered(t, {3, 7}, 300)));
  check_op(row("more than a block", unordered(DType::f32, {3, 5000}, 1 << 20)));
  OpCase literal = row("nothing", Tensor(DType::f32, {0}));
  literal.expected = {f32({}, {HUGE_VAL}), f32({}, {-HUGE_VAL})};
  check_op(literal);
  literal = row("no number", f32({3}, {1, std::nan(""), 2}));
  literal.expected = {f32({}, {std::nan("")}), f32({}, {std::nan("")})};
  check_op(literal);
}

TEST(Programs, TopKOrdersInfinityAndNanAmongMany) {
  Tensor x = unordered(DType::f32, {600}, 1000);
  for (int64_t i = 7; i < 600; i += 50) x.set_double(i, std::nan(""));
  for (int64_t i = 9; i < 600; i += 50) x.set_double(i, i % 100 < 50 ? HUGE_VAL : -HUGE_VAL);
  for (int64_t i = 11; i < 600; i += 50) x.set_double(i, i % 100 < 50 ? 0.0 : -0.0);
  for (int64_t largest : {0, 1})
    for (int64_t k : {30, 200, 300, 600}) check_top_k(x, k, 0, largest);
}

TEST(Programs, RunningSumsAlongAnyAxis) {
  for (int64_t axis : {0, 1, 2}) {
    for (int64_t exclusive : {0, 1}) {
      for (int64_t reverse : {0, 1}) {
        for (const DType t : {DType::f32, DType::i32, DType::f16}) {
          OpCase row = {
              concat("axis ", axis), "CumSum", {data(pattern(t, {3, 5, 37})), {Tensor::scalar_i64(axis), true}}};
          row.attributes = {{"exclusive", exclusive}, {"reverse", reverse}};
          row.tolerance = t == DType::f16 ? 2e-3 : 1e-5;
          check_op(row);
          row.inputs[1].constant = false;  // the axis is known only at run time
          check_op(row);
        }
      }
    }
  }
  for (const int64_t columns : {1, 5, 16, 17})
    for (const int64_t exclusive : {0, 1})
      for (const DType t : {DType::f32, DType::f64, DType::i64, DType::i32}) {
        OpCase row = {concat(columns, " columns"), "CumSum", {data(pattern(t, {3, 9, columns})), known_ints({1})}};
        row.attributes = {{"exclusive", exclusive}};
        row.tolerance = 1e-5;
        check_op(row);
      }
  OpCase wide = {"more neighbours than a block", "CumSum", {data(pattern(DType::f32, {3, 2500})), known_ints({0})}};
  check_op(wide);
}

}  // namespace
}  // namespace gcg::test
