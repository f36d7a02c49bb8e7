// gart.EqualSlices: finds equal rows. tests/models/check_unique.py checks Unique, which uses it.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

TEST(EqualSlices, Rows) {
  const auto row = [](const char* what, const Tensor& x, const std::vector<int64_t>& first,
                      const std::vector<int64_t>& rank) {
    check_op({what,
              "EqualSlices",
              {data(x)},
              {},
              {Tensor::vector_i64(first), Tensor::vector_i64(rank)},
              2,
              true,
              0,
              "gart"});
  };
  row("elements", f32({5, 1}, {2, -1, 2, 7, -1}), {0, 1, 0, 3, 1}, {1, 0, 1, 2, 0});
  row("NaN equals itself and is the largest", f32({4, 1}, {NAN, INFINITY, NAN, -0.0}), {0, 1, 0, 3}, {2, 1, 2, 0});
  row("pairs", f32({5, 2}, {1, 2, 1, NAN, 1, 2, 0, 9, 1, NAN}), {0, 1, 0, 3, 1}, {1, 2, 1, 0, 2});
  row("integers", i64({3, 2}, {5, -1, 5, -2, 5, -1}), {0, 1, 0}, {1, 0, 1});
  row("booleans", bools({3, 2}, {1, 0, 0, 1, 1, 0}), {0, 1, 0}, {1, 0, 1});
  row("one row", f32({1, 3}, {1, 2, 3}), {0}, {0});
  for (const DType t : {DType::f64, DType::i8, DType::u64, DType::u16})
    check_op({std::string(name_of(t)), "EqualSlices", {data(pattern(t, {37, 3}))}, {}, {}, 2, true, 0, "gart"});
  EXPECT_NE(refusal({"a vector", "EqualSlices", {data(f32({2}, {1, 2}))}, {}, {}, 2, true, 0, "gart"})
                .find("rows of a matrix"),
            std::string::npos);
}

}  // namespace
}  // namespace gcg::test
