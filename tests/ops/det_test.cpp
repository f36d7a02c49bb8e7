// Det by elimination, for matrices of any size.
#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr double kTolerance = 2e-4;  // the terms of the sums are much larger than the result

/// The expected numbers are those of numpy.linalg.det.
TEST(Det, OfSevenRows) {
  const std::vector<double> halves = {3,    -4,   -3,   -2.5, -3,   3,    3.5,  1,   -4.5, -4,   -1.5, -0.5, 1,   0,
                                      -2,   -3,   2,    2,    -4.5, -3.5, -0.5, -1,  3.5,  0,    -1,   -0.5, 1.5, 1,
                                      -3,   2.5,  2.5,  4.5,  2.5,  -2,   -1.5, 1.5, 1.5,  2,    3.5,  -2,   4,   -4.5,
                                      -4,   4.5,  4,    -2,   -3.5, -2,   -4.5, 3.5, 1.5,  1,    -2.5, -0.5, -3,  2.5,
                                      0,    -4.5, -2.5, 2,    0,    -1,   -2.5, -4,  1,    1.5,  0,    4,    4,   -3,
                                      1,    1,    -2.5, -2,   0,    2.5,  -2,   2,   1.5,  -2.5, -1,   3,    3.5, 1.5,
                                      -4.5, 1.5,  -2.5, 3,    4,    -0.5, 4.5,  2.5, -1.5, 3.5,  -1,   -4,   1,   3.5};
  for (const DType t : {DType::f32, DType::f64}) {
    const double tolerance = t == DType::f64 ? 1e-12 : 2e-6;
    check_op({"numpy",
              "Det",
              {data(tensor(t, {2, 7, 7}, halves))},
              {},
              {tensor(t, {2}, {-18366.1875, -42960.9375})},
              1,
              true,
              tolerance});
  }
}

TEST(Det, OfAnyRowsTypesAndBatches) {
  check_op({"two rows", "Det", {data(f32({2, 2}, {1, 2, 3, 4}))}, {}, {f32({}, {-2})}});
  check_op({"no rows", "Det", {data(f32({3, 0, 0}, {}))}, {}, {f32({3}, {1, 1, 1})}});
  check_op({"no matrices", "Det", {data(f32({0, 4, 4}, {}))}, {}, {f32({0}, {})}});
  for (const DType t : {DType::f32, DType::f64, DType::f16})
    for (const int64_t n : {1, 3, 5, 6, 18}) {
      const double tolerance = t == DType::f64 ? 1e-9 : t == DType::f32 ? kTolerance : 2e-2;
      check_op({concat(n, " rows"), "Det", {data(pattern(t, {2, 3, n, n}))}, {}, {}, 1, true, tolerance});
    }
}

TEST(Det, OfMatricesThatNeedPivotsOrHaveNone) {
  check_op({"rows change places", "Det", {data(f32({3, 3}, {0, 0, 2, 0, 3, 0, 5, 0, 0}))}, {}, {f32({}, {-30})}});
  check_op({"a column of zeros", "Det", {data(f32({3, 3}, {1, 0, 2, 4, 0, 1, 5, 0, 3}))}, {}, {f32({}, {0})}});
  check_op({"equal rows", "Det", {data(f32({3, 3}, {1, 2, 4, 7, 1, 3, 1, 2, 4}))}, {}, {f32({}, {0})}});
}

}  // namespace
}  // namespace gcg::test
