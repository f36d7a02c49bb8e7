#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

OpCase product(std::vector<int64_t> a, std::vector<int64_t> b, DType dtype = DType::f32) {
  return {"ranks", "MatMul", {data(pattern(dtype, std::move(a), 1)), data(pattern(dtype, std::move(b), 2))}, {}, {}, 1,
          true,    1e-5};
}

TEST(MatMul, GivesTheLiteral) {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4}), b = f32({2, 2}, {5, 6, 7, 8});
  check_op({"2x2", "MatMul", {data(a), data(b)}, {}, {f32({2, 2}, {19, 22, 43, 50})}});
  check_op({"vector by matrix", "MatMul", {data(f32({2}, {1, 2})), data(b)}, {}, {f32({2}, {19, 22})}});
  check_op({"matrix by vector", "MatMul", {data(a), data(f32({2}, {5, 7}))}, {}, {f32({2}, {19, 43})}});
  check_op({"dot", "MatMul", {data(f32({2}, {1, 2})), data(f32({2}, {5, 7}))}, {}, {f32({}, {19})}});
}

TEST(MatMul, TakesEveryRankAndBroadcastsBatches) {
  check_op(product({3, 5}, {5, 7}));
  check_op(product({2, 3, 5}, {5, 7}));
  check_op(product({3, 5}, {2, 5, 7}));
  check_op(product({4, 1, 3, 5}, {2, 5, 7}));
  check_op(product({1, 2, 3, 5}, {4, 1, 5, 7}));
  check_op(product({5}, {2, 5, 7}));
  check_op(product({2, 3, 5}, {5}));
  check_op(product({1, 1}, {1, 1}));
  check_op(product({2, 0}, {0, 3}));
  check_op(product({0, 2}, {2, 3}));
  check_op(product({3, 5}, {5, 7}, DType::f64));
  for (const DType t : {DType::i32, DType::i64, DType::u32, DType::u64}) check_op(product({3, 5}, {5, 2}, t));
  const double inf = std::numeric_limits<double>::infinity();
  check_op({"inf by zero", "MatMul", {data(f32({1, 2}, {inf, 1})), data(f32({2, 2}, {0, 1, 1, 1}))}});
}

TEST(MatMul, RefusesWhatDoesNotFit) {
  EXPECT_NE(refusal(product({2, 3}, {4, 5})).find("3 and 4 differ"), std::string::npos);
  EXPECT_NE(refusal(product({}, {4, 5})).find("at least one dimension"), std::string::npos);
}

TEST(Gemm, TakesEveryAttribute) {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4}), b = f32({2, 2}, {5, 6, 7, 8});
  check_op({"scaled, with row bias",
            "Gemm",
            {data(a), data(b), data(f32({2}, {10, 20}))},
            {{"alpha", 2.0}, {"beta", 0.5}},
            {f32({2, 2}, {43, 54, 91, 110})}});
  for (int64_t ta : {0, 1}) {
    for (int64_t tb : {0, 1}) {
      const std::vector<int64_t> as = ta ? std::vector<int64_t>{5, 3} : std::vector<int64_t>{3, 5};
      const std::vector<int64_t> bs = tb ? std::vector<int64_t>{7, 5} : std::vector<int64_t>{5, 7};
      for (const std::vector<int64_t>& c : std::vector<std::vector<int64_t>>{{}, {1}, {7}, {3, 1}, {1, 7}, {3, 7}}) {
        check_op({"transposes and bias",
                  "Gemm",
                  {data(pattern(DType::f32, as)), data(pattern(DType::f32, bs, 2)), data(pattern(DType::f32, c, 3))},
                  {{"transA", ta}, {"transB", tb}, {"alpha", 0.25}, {"beta", -2.0}},
                  {},
                  1,
                  true,
                  1e-5});
      }
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  check_op({"no bias", "Gemm", {data(a), data(b)}, {}, {f32({2, 2}, {19, 22, 43, 50})}});
  check_op({"beta 0 ignores the bias",
            "Gemm",
            {data(a), data(b), data(f32({1}, {nan}))},
            {{"beta", 0.0}},
            {f32({2, 2}, {19, 22, 43, 50})}});
  check_op({"integers",
            "Gemm",
            {data(pattern(DType::i32, {2, 3})), data(pattern(DType::i32, {3, 2})), data(pattern(DType::i32, {2}))},
            {{"alpha", 2.0}}});
  check_op(
      {"f64", "Gemm", {data(pattern(DType::f64, {2, 3})), data(pattern(DType::f64, {3, 2}))}, {}, {}, 1, true, 1e-12});
}

TEST(Gemm, RefusesWhatDoesNotFit) {
  const OpInput a = data(pattern(DType::f32, {2, 3})), b = data(pattern(DType::f32, {3, 4}));
  EXPECT_NE(refusal({"bias", "Gemm", {a, b, data(pattern(DType::f32, {3}))}}).find("4 and 3 differ"),
            std::string::npos);
  EXPECT_NE(refusal({"rank", "Gemm", {data(pattern(DType::f32, {3})), b}}).find("must be matrices"), std::string::npos);
}

TEST(PackedMatMul, EqualsTheProductWithTheUnpackedMatrix) {
  for (const int64_t n : {1, 47, 48, 49, 100}) {
    const Tensor a = pattern(DType::f32, {2, 3, 5}), b = pattern(DType::f32, {5, n}, 2);
    OpCase packing = {"pack", "PackMatMul", {known(b)}, {{"columns", int64_t{48}}}};
    packing.domain = "gart";
    const Tensor packed = check_op(packing)[0];
    OpCase row = {"packed",
                  "PackedMatMul",
                  {data(a), known(packed)},
                  {{"k", int64_t{5}}, {"n", n}, {"columns", int64_t{48}}},
                  run_reference({"plain", "MatMul", {data(a), data(b)}}),
                  1,
                  true,
                  1e-5};
    row.domain = "gart";
    check_op(row);
  }
}

TEST(PackMatMul, EqualsThePackingOfTheTransposedMatrix) {
  for (const DType type : {DType::f32, DType::f16, DType::f64}) {
    const Tensor b = pattern(type, {100, 5}, 2), bt = run_reference({"turn", "Transpose", {known(b)}})[0];
    OpCase row = {"pack", "PackMatMul", {known(b)}, {{"transposed", int64_t{1}}}},
           plain = {"plain", "PackMatMul", {known(bt)}};
    row.domain = plain.domain = "gart";
    row.expected = run_reference(plain);
    check_op(row);
  }
}

TEST(PackedRows, EqualsGatherOfTheTransposedMatrix) {
  for (const int64_t n : {1, 48, 49, 100})
    for (const DType type : {DType::f32, DType::i8}) {
      const Tensor b = pattern(type, {5, n}, 2), bt = run_reference({"turn", "Transpose", {known(b)}})[0];
      const Tensor indices = Tensor::from<int64_t>(DType::i64, {2, 2}, {0, n - 1, -1, n / 2});
      OpCase packing = {"pack", "PackMatMul", {known(b)}};
      packing.domain = "gart";
      OpCase row = {"rows",
                    "PackedRows",
                    {known(run_reference(packing)[0]), data(indices)},
                    {{"k", int64_t{5}}, {"n", n}},
                    run_reference({"gather", "Gather", {data(bt), data(indices)}})};
      row.domain = "gart";
      check_op(row);
    }
}

}  // namespace
}  // namespace gcg::test
