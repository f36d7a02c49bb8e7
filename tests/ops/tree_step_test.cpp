// gart.TreeStep: rows go down trees. What is written with it, the ensembles of ai.onnx.ml, tests/models/check_sklearn.py checks.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

/// Two trees: node 0 asks feature 1 <= 0.5 (children 2 and 3), node 1 asks feature 0 <= -1 (or NaN, with nan_left; 4 and 5); 3 asks feature 0 <= 2
/// (6 and 7); all others are leaves.
std::vector<OpInput> two_trees(const Tensor& x, bool nan_left) {
  const auto i32 = [](const std::vector<double>& v) { return known(tensor(DType::i32, {8}, v)); };
  return {data(x), known(tensor(DType::i32, {1, 2}, {0, 1})), i32({1 << 2 | 1, nan_left ? 3.0 : 1.0, 0, 1, 0, 0, 0, 0}),
          known(tensor(x.dtype(), {8}, {0.5, -1, 0, 2, 0, 0, 0, 0})), i32({2, 4, 2, 6, 4, 5, 6, 7})};
}

TEST(TreeStep, GoesDown) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = tensor(dtype, {4, 2}, {-1, 0.5, 3, 0.75, 2, 1, NAN, NAN});
    for (const int64_t nan_left : {0, 1}) {
      const double last = nan_left ? 4 : 5;
      check_op({"a level", "TreeStep", two_trees(x, nan_left != 0), {{"levels", int64_t{1}}, {"nan_left", nan_left}},
                {tensor(DType::i32, {4, 2}, {2, 4, 3, 5, 3, 5, 3, last})}, 1, true, 0, "gart"});
      check_op({"two levels", "TreeStep", two_trees(x, nan_left != 0), {{"levels", int64_t{2}}, {"nan_left", nan_left}},
                {tensor(DType::i32, {4, 2}, {2, 4, 7, 5, 6, 5, 7, last})}, 1, true, 0, "gart"});
    }
  }
}

}  // namespace
}  // namespace gcg::test
