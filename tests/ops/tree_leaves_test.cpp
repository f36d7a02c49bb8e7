// gart.TreeLeaves finds the leaves that rows reach in trees. tests/models/check_sklearn.py checks the ensembles of
// ai.onnx.ml, which use it.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

/// Odd trees test feature 0 <= -1 (or NaN, with nan_left). Even trees test feature 1 <= 0.5 and then, on the right,
/// feature 0 <= 2. Nodes of an even tree: 0, its children 2 and 3, the children of 3: 6 and 7. Nodes of an odd tree: 1,
/// 4 and 5.
std::vector<OpInput> trees(const Tensor& x, int64_t count, bool nan_left) {
  const auto i32 = [](const std::vector<double>& v) {
    return known(tensor(DType::i32, {static_cast<int64_t>(v.size())}, v));
  };
  std::vector<double> roots;
  for (int64_t t = 0; t < count; ++t) roots.push_back(static_cast<double>(t % 2));
  return {data(x), i32(roots), i32({1 << 2 | 1, nan_left ? 3.0 : 1.0, 0, 1, 0, 0, 0, 0}),
          known(tensor(x.dtype(), {8}, {0.5, -1, 0, 2, 0, 0, 0, 0})), i32({2, 4, 2, 6, 4, 5, 6, 7})};
}

TEST(TreeLeaves, GoesDown) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const int64_t count : {1, 2, 8, 9, 19})  // fewer trees than are walked side by side, as many, and more
      for (const int64_t nan_left : {0, 1}) {
        const Tensor x = tensor(dtype, {4, 2}, {-1, 0.5, 3, 0.75, 2, 1, NAN, NAN});
        const double even[] = {2, 7, 6, 7}, odd[] = {4, 5, 5, nan_left ? 4.0 : 5.0};
        std::vector<double> leaves;
        for (int row = 0; row < 4; ++row)
          for (int64_t t = 0; t < count; ++t) leaves.push_back(t % 2 == 0 ? even[row] : odd[row]);
        check_op({"trees",
                  "TreeLeaves",
                  trees(x, count, nan_left != 0),
                  {{"nan_left", nan_left}},
                  {tensor(DType::i32, {4, count}, leaves)},
                  1,
                  true,
                  0,
                  "gart"});
      }
}

}  // namespace
}  // namespace gcg::test
