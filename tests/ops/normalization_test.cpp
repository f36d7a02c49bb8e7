#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/op_test.h"

// Literals come from onnxruntime 1.31 on the same pattern() tensors.
namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;
constexpr double kInf = std::numeric_limits<double>::infinity();

OpInput x(Ints shape, int seed = 1) { return data(pattern(DType::f32, std::move(shape), seed)); }

TEST(LayerNormalization, GivesTheLiteral) {
  check_op({"two axes, weights per row",
            "LayerNormalization",
            {x({2, 2, 3}), x({2, 1}, 2), x({2, 1}, 3)},
            {{"axis", int64_t{1}}},
            {},
            3,
            true,
            1e-5});
  check_op({"one row",
            "LayerNormalization",
            {data(f32({1, 4}, {1, 2, 3, 4})), data(f32({4}, {1, 1, 2, 1})), data(f32({4}, {0, 0, 0, 1}))},
            {},
            {f32({1, 4}, {-1.3416354, -0.4472118, 0.8944237, 2.3416354}), f32({1, 1}, {2.5}), f32({1, 1}, {0.8944237})},
            3});
}

TEST(LayerNormalization, TakesEveryAxisAndWeight) {
  for (int64_t axis : {-3, -2, -1, 0, 1, 2}) {
    check_op({"scalar scale", "LayerNormalization", {x({2, 3, 5}), x({})}, {{"axis", axis}}, {}, 1, true, 1e-5});
    check_op({"full scale",
              "LayerNormalization",
              {x({2, 3, 5}), x({2, 3, 5}, 2), x({3, 5}, 3)},
              {{"axis", axis}, {"epsilon", 0.1}},
              {},
              2,
              true,
              1e-5});
    check_op({"rms", "RMSNormalization", {x({2, 3, 5}), x({5}, 2)}, {{"axis", axis}}, {}, 1, true, 1e-5});
  }
  check_op({"no bias", "LayerNormalization", {x({4, 7}), x({7}, 2), omitted()}, {}, {}, 1, true, 1e-5});
  check_op({"extent 1", "LayerNormalization", {x({3, 1}), x({1}, 2)}});
  check_op({"no rows", "LayerNormalization", {x({0, 3}), x({3}, 2)}});
  check_op({"inf", "LayerNormalization", {data(f32({2, 2}, {kInf, 1, 2, 3})), x({2}, 2)}});
  check_op({"large mean",
            "LayerNormalization",
            {data(f32({1, 4}, {10000, 10001, 10002, 10003})), data(f32({4}, {1}))},
            {},
            {f32({1, 4}, {-1.3416354, -0.4472118, 0.4472118, 1.3416354})}});
  check_op({"f64",
            "RMSNormalization",
            {data(pattern(DType::f64, {3, 4})), data(pattern(DType::f64, {4}))},
            {},
            {},
            1,
            true,
            1e-12});
  EXPECT_NE(refusal({"scale", "LayerNormalization", {x({2, 3}), x({2})}}).find("3 and 2 differ"), std::string::npos);
}

TEST(LpNormalization, DividesByTheNorm) {
  check_op({"p 1 along rows",
            "LpNormalization",
            {x({2, 3})},
            {{"p", int64_t{1}}, {"axis", int64_t{0}}},
            {f32({2, 3}, {-0.3103448, -0.4482759, -0.5862069, 0.6896552, 0.5517241, 0.4137931})}});
  check_op({"zero row stays zero",
            "LpNormalization",
            {data(f32({2, 2}, {0, 0, 3, 4}))},
            {},
            {f32({2, 2}, {0, 0, 0.6, 0.8})}});
  for (int64_t axis : {-3, 0, 1}) check_op({"axis", "LpNormalization", {x({2, 3, 4})}, {{"axis", axis}}});
  EXPECT_NE(refusal({"p", "LpNormalization", {x({2})}, {{"p", int64_t{3}}}}).find("p is 3"), std::string::npos);
}

TEST(MeanVarianceNormalization, TakesAxes) {
  check_op(
      {"default axes",
       "MeanVarianceNormalization",
       {x({2, 2, 1, 2})},
       {},
       {f32({2, 2, 1, 2}, {-0.8294501, -1.145431, -1.55446, 1.217348, 1.145431, 0.8294501, 0.3183833, 0.01872843})},
       1,
       true,
       1e-5});
  check_op({"axes", "MeanVarianceNormalization", {x({2, 3, 4})}, {{"axes", Ints{-1}}}, {}, 1, true, 1e-5});
}

TEST(ChannelNormalization, GivesTheLiteral) {
  check_op({"batch",
            "BatchNormalization",
            {data(f32({1, 2, 2}, {1, 2, 3, 4})), data(f32({2}, {2, 1})), data(f32({2}, {0, 1})), data(f32({2}, {1, 3})),
             data(f32({2}, {3, 0}))},
            {{"epsilon", 1.0}},
            {f32({1, 2, 2}, {0, 1, 1, 2})}});
  check_op({"instance",
            "InstanceNormalization",
            {x({1, 2, 3}), data(f32({2}, {2, 3})), data(f32({2}, {0.5, -1}))},
            {},
            {f32({1, 2, 3}, {2.949416, 0.5, -1.949416, 2.674124, -1, -4.674124})},
            1,
            true,
            1e-5});
  check_op({"group",
            "GroupNormalization",
            {x({1, 4, 2}), data(f32({4}, {1, 2, 3, 4})), data(f32({4}, {0.5, -1, 0, 1}))},
            {{"num_groups", int64_t{2}}},
            {f32({1, 4, 2}, {0.2082382, -0.06636107, -2.681921, 2.398166, 4.024858, 1.341619, -0.7888258, -4.366477})},
            1,
            true,
            1e-5});
  check_op({"lrn",
            "LRN",
            {x({1, 5, 1, 2})},
            {{"size", int64_t{3}}, {"alpha", 0.5}, {"bias", 1.5}},
            {f32({1, 5, 1, 2}, {-0.572114, -0.7161396, -0.9029818, 1.008089, 0.858993, 0.6649759, 0.5296846, 0.3020334,
                                0, -0.3542344})}});
}

TEST(ChannelNormalization, TakesEveryRank) {
  for (const Ints& shape : {Ints{2, 4}, Ints{2, 4, 3}, Ints{1, 4, 3, 2}, Ints{2, 4, 1, 1, 1}, Ints{0, 4, 3}}) {
    const OpInput scale = x({4}, 2), bias = x({4}, 3);
    check_op({"batch",
              "BatchNormalization",
              {x(shape), scale, bias, x({4}, 4), data(f32({4}, {1, 0, 2, 0.5}))},
              {},
              {},
              1,
              true,
              1e-5});
    check_op({"instance", "InstanceNormalization", {x(shape), scale, bias}, {}, {}, 1, true, 1e-5});
    for (int64_t groups : {1, 2, 4}) {
      check_op({"group", "GroupNormalization", {x(shape), scale, bias}, {{"num_groups", groups}}, {}, 1, true, 1e-5});
    }
    check_op({"scale per group",
              "GroupNormalization",
              {x(shape), x({2}, 2), x({2}, 3)},
              {{"num_groups", int64_t{2}}, {"scale_per_group", int64_t{1}}},
              {},
              1,
              false,
              1e-5});
    for (int64_t size : {1, 2, 3, 6}) check_op({"lrn", "LRN", {x(shape)}, {{"size", size}, {"alpha", 0.2}}});
  }
  EXPECT_NE(refusal({"groups", "GroupNormalization", {x({1, 4, 2}), x({4}), x({4})}, {{"num_groups", int64_t{3}}}})
                .find("must divide"),
            std::string::npos);
  EXPECT_NE(refusal({"training",
                     "BatchNormalization",
                     {x({1, 2}), x({2}), x({2}), x({2}), x({2})},
                     {{"training_mode", int64_t{1}}}})
                .find("training_mode"),
            std::string::npos);
}

}  // namespace
}  // namespace gcg::test
