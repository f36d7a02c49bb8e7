#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

// Literals come from onnxruntime 1.31 on the same pattern() tensors.
namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

OpInput x(Ints shape, int seed) { return data(pattern(DType::f32, std::move(shape), seed)); }

TEST(Attention, SharesKeysAmongHeads) {
  check_op({"grouped and causal",
            "Attention",
            {x({1, 4, 2, 2}, 1), x({1, 2, 3, 2}, 2), x({1, 2, 3, 1}, 3)},
            {{"is_causal", int64_t{1}}},
            {f32({1, 4, 2, 1}, {1.625, 1.40795, 1.625, 1.49641, 0.125, -0.30209, 0.125, 0.0920563})},
            1,
            false,
            1e-5});
}

TEST(Attention, ContinuesThePast) {
  const Attributes attributes = {{"q_num_heads", int64_t{2}},
                                 {"kv_num_heads", int64_t{1}},
                                 {"softcap", 2.0},
                                 {"qk_matmul_output_mode", int64_t{1}},
                                 {"scale", 0.5}};
  OpCase row = {"3-D with past, softcap and all outputs",
                "Attention",
                {x({1, 2, 4}, 1), x({1, 1, 2}, 2), x({1, 1, 2}, 3), omitted(), x({1, 1, 2, 2}, 4), x({1, 1, 2, 2}, 5)},
                attributes,
                {f32({1, 2, 4}, {0.615921, 0.115921, -0.683366, -1.18337, -1.20943, -1.70943, -0.903273, -1.40327}),
                 f32({1, 1, 3, 2}, {-2.125, 2.5, 2, 1.5, 0.25, -0.25}),
                 f32({1, 1, 3, 2}, {-0.75, -1.25, -1.75, -2.25, 1.625, 1.125}),
                 f32({1, 2, 2, 3}, {-0.790436, -1.64975, 0.0624797, -0.248706, 1.83165, 0.0624797, 1.98171, -0.248706,
                                    -0.562543, -0.430653, 1.19275, 0.0624797})},
                4};
  row.tolerance = 1e-5;
  check_op(row);
}

TEST(Attention, GivesZerosWhereNoKeyIsLeft) {
  check_op(
      {"the second query may see nothing",
       "Attention",
       {x({1, 1, 2, 2}, 1), x({1, 1, 3, 2}, 2), x({1, 1, 3, 2}, 3), data(bools({2, 3}, {1, 0, 1, 0, 0, 0}))},
       {{"qk_matmul_output_mode", int64_t{3}}},
       {f32({1, 1, 2, 2}, {-0.334893, -0.834893, 0, 0}), f32({1, 1, 3, 2}, {0.25, -0.25, -0.75, -1.25, -1.75, -2.25}),
        f32({1, 1, 3, 2}, {1.625, 1.125, 0.625, 0.125, -0.375, -0.875}),
        f32({1, 1, 2, 3}, {0.0200536, 0, 0.979946, 0, 0, 0})},
       4});
}

TEST(Attention, CountsValidKeys) {
  check_op({"causal at the end of each sample",
            "Attention",
            {x({2, 1, 2, 2}, 1), x({2, 1, 3, 2}, 2), x({2, 1, 3, 1}, 3), omitted(), omitted(), omitted(),
             data(i64({2}, {2, 3}))},
            {{"is_causal", int64_t{1}}},
            {f32({2, 1, 2, 1}, {1.625, 1.40795, 0.0861808, -0.0748409})}});
}

TEST(Attention, RefusesWhatDoesNotFit) {
  const auto refused = [](const OpCase& row, const char* why) {
    EXPECT_NE(refusal(row).find(why), std::string::npos) << refusal(row);
  };
  OpCase row = {"", "Attention", {x({1, 3, 2, 2}, 1), x({1, 2, 3, 2}, 2), x({1, 2, 3, 1}, 3)}};
  refused(row, "3 query heads are not a multiple of 2 key heads");
  row.inputs[0] = x({1, 2, 4}, 1);
  refused(row, "all three must have 3, or all 4");
  for (OpInput& in : row.inputs) in = x({1, 2, 4}, 1);
  refused(row, "q_num_heads");
  row.attributes = {{"q_num_heads", int64_t{3}}, {"kv_num_heads", int64_t{1}}};
  refused(row, "not a multiple of 3 heads");
  row.attributes = {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}, {"qk_matmul_output_mode", int64_t{4}}};
  refused(row, "qk_matmul_output_mode is 4");
}

TEST(RotaryEmbedding, TurnsPairs) {
  const OpInput ids = data(i64({1, 2}, {2, 0}));
  OpCase row = {"halves",
                "RotaryEmbedding",
                {x({1, 2, 2, 4}, 1), x({3, 2}, 2), x({3, 2}, 3), ids},
                {},
                {f32({1, 2, 2, 4}, {1.171875, 5.84375, 4.140625, -4.203125, -1.125, -0.9375, 3.5, 1.5625, -0.375,
                                    -0.1875, 1.75, 3.8125, -3.953125, -1.203125, -2.71875, -3.21875})}};
  check_op(row);
  row.what = "neighbours";
  row.attributes = {{"interleaved", int64_t{1}}};
  row.expected = {f32({1, 2, 2, 4}, {1.359375, 3.265625, 6.96875, -3.765625, -1.9375, 3.625, -0.8125, 1, -0.1875, 0.875,
                                     0.9375, 4.25, 3.5625, -3.875, -2.359375, 1.984375})};
  check_op(row);
  check_op({"the first of each head",
            "RotaryEmbedding",
            {x({1, 2, 8}, 1), x({1, 2, 1}, 2), x({1, 2, 1}, 3)},
            {{"num_heads", int64_t{2}}, {"rotary_embedding_dim", int64_t{2}}},
            {f32({1, 2, 8}, {2.359375, -2.234375, -2.125, 2.5, -1.9375, 3.625, 1, 0.5, 0.5625, 0.125, -1, -1.5, 3.3125,
                             -1.625, 2.125, 1.625})}});
}

TEST(RotaryEmbedding, RefusesWhatDoesNotFit) {
  const auto refused = [](const OpCase& row, const char* why) {
    EXPECT_NE(refusal(row).find(why), std::string::npos) << refusal(row);
  };
  OpCase row = {"", "RotaryEmbedding", {x({1, 2, 6}, 1), x({1, 2, 1}, 2), x({1, 2, 1}, 3)}};
  refused(row, "num_heads");
  row.attributes = {{"num_heads", int64_t{2}}};
  refused(row, "the head size 3 is odd");
  row.attributes = {{"num_heads", int64_t{2}}, {"rotary_embedding_dim", int64_t{4}}};
  refused(row, "above the head size 3");
}

}  // namespace
}  // namespace gcg::test
