#include <gtest/gtest.h>

#include "compiler/passes/keep_quantized_weights.h"
#include "compiler/passes/lower_quantized_products.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

Graph keep(const std::string& text, bool changes, const std::map<std::string, int64_t>& symbols = {}) {
  return check_rewrite(text, keep_quantized_weights, changes, symbols);
}

TEST(QuantizedWeights, KeepsTheScaleOfAColumn) {
  for (const char* type : {"i8", "u8"}) {
    const Graph after = keep(concat(R"(graph g(%x: f32[2,3,256]) -> (%y) {
      constant %q: )",
                                    type, R"([256,300] = random(1)
      constant %s: f32[300] = random(2)
      constant %z: )",
                                    type, R"([300] = random(3)
      %w = DequantizeLinear(%q, %s, %z) {axis = 1}
      %y = MatMul(%x, %w)
    })"),
                             true);
    EXPECT_EQ(op_counts(after), (Counts{{"gart.QuantizedMatMul", 1}}));
    const Node& product = after.node(after.value(after.outputs[0]).producer);
    EXPECT_EQ(product.int_attribute("block", 0), 256);
    EXPECT_EQ(product.inputs.size(), 4u);
  }
}

TEST(QuantizedWeights, KeepsBlocksOfATransposedMatrix) {
  const Graph after = keep(R"(graph g(%x: f32[3,256]) -> (%y) {
    constant %q: i8[300,256] = random(1)
    constant %s: f32[300,8] = random(2)
    %w = DequantizeLinear(%q, %s) {axis = 1, block_size = 32}
    %t = Transpose(%w) {perm = [1, 0]}
    %y = MatMul(%x, %t)
  })",
                           true);
  const Node& product = after.node(after.value(after.outputs[0]).producer);
  EXPECT_EQ(product.int_attribute("block", 0), 32);
  EXPECT_EQ(product.inputs.size(), 3u);
}

TEST(QuantizedWeights, KeepTheAccuracyThatTheModelAsksFor) {
  for (const int exact : {0, 1}) {
    Graph after = keep(concat(R"(graph g(%x: f32[3,256]) -> (%y) {
      constant %q: i8[256,300] = random(1)
      constant %s: f32[300] = random(2)
      %w = DequantizeLinear(%q, %s) {axis = 1}
      %y = MatMul(%x, %w) {exact = )",
                              exact, R"(}
    })"),
                       true);
    EXPECT_EQ(after.node(after.value(after.outputs[0]).producer).int_attribute("exact", 0), exact);
    EXPECT_TRUE(lower_quantized_products(after, *find_target("x86-64-v4-vnni")));
    EXPECT_EQ(after.node(after.value(after.outputs[0]).producer).int_attribute("exact", 0), exact);
  }
}

TEST(QuantizedWeights, KeepsThoseOfGemm) {
  const Graph after = keep(R"(graph g(%x: f32[b,256]) -> (%y) {
    constant %q: i8[300,256] = random(1)
    constant %s: f32[300] = random(2)
    constant %c: f32[300] = random(3)
    %w = DequantizeLinear(%q, %s) {axis = 0}
    %y = Gemm(%x, %w, %c) {transB = 1}
  })",
                           true, {{"b", 2}});
  EXPECT_EQ(op_counts(after), (Counts{{"Add", 1}, {"gart.QuantizedMatMul", 1}}));
  keep(R"(graph g(%x: f32[3,256]) -> (%y) {
    constant %q: i8[300,256] = random(1)
    constant %s: f32[300] = random(2)
    %w = DequantizeLinear(%q, %s) {axis = 0}
    %y = Gemm(%x, %w) {transB = 1, alpha = 0.5}
  })",
       false);
}

TEST(QuantizedWeights, KeepsOneScale) {
  keep(R"(graph g(%x: f32[3,256]) -> (%y) {
    constant %q: i8[256,300] = random(1)
    constant %s: f32[] = random(2)
    %w = DequantizeLinear(%q, %s)
    %y = MatMul(%x, %w)
  })",
       true);
}

TEST(QuantizedWeights, LeavesSmallOnesAndScalesOfRows) {
  keep(R"(graph g(%x: f32[3,64]) -> (%y) {
    constant %q: i8[64,64] = random(1)
    constant %s: f32[64] = random(2)
    %w = DequantizeLinear(%q, %s) {axis = 1}
    %y = MatMul(%x, %w)
  })",
       false);
  keep(R"(graph g(%x: f32[3,256]) -> (%y) {
    constant %q: i8[256,300] = random(1)
    constant %s: f32[256] = random(2)
    %w = DequantizeLinear(%q, %s) {axis = 0}
    %y = MatMul(%x, %w)
  })",
       false);
}

Graph lower(const char* target, const std::string& scales) {
  return check_rewrite(concat(R"(graph g(%x: f32[2,3,100]) -> (%y) {
    constant %q: i8[60,100] = random(1)
    constant %s: f32[60,4] = random(2)
    constant %o: f32[60,4] = random(3)
    %y = gart.QuantizedMatMul(%x, %q, )",
                              scales, R"() {block = 32}
  })"),
                       [&](Graph& g) { return lower_quantized_products(g, *find_target(target)); }, true, {});
}

TEST(QuantizedWeights, ArePackedOnCpus) {
  for (const char* scales : {"%s", "%s, %o"})
    EXPECT_EQ(op_counts(lower("x86-64-v4", scales)), (Counts{{"gart.PackedMatMul", 1}}));
}

TEST(QuantizedWeights, ATableOfTheSameIntegersIsReadInPanels) {
  const auto lower_tied = [](int rows, const char* scales, const char* more) {
    return op_counts(
        check_rewrite(concat("graph g(%x: f32[3,64], %i: i64[2]) -> (%y, %r, %m) {\n  constant %q: i4[", rows,
                             R"(,64] = random(1)
      constant %s: f32[)",
                             rows, R"(,2] = random(2)
      constant %z: f32[)",
                             rows, R"(,2] = random(3)
      %y = gart.QuantizedMatMul(%x, %q, %s) {block = 32}
      %t = DequantizeLinear(%q, )",
                             scales, R"() {axis = 1, block_size = 32}
      %r = Gather(%t, %i)
      %m = )",
                             more, "\n}"),
                      [&](Graph& g) { return lower_quantized_products(g, *find_target("x86-64-v4")); }, true, {}));
  };
  const char* again = "Gather(%t, %i)";
  EXPECT_EQ(lower_tied(5000, "%s", again), (Counts{{"gart.PackedMatMul", 1}, {"gart.PackedRows", 2}}));
  const Counts kept = {{"gart.PackedMatMul", 1}, {"DequantizeLinear", 1}, {"Gather", 2}};
  EXPECT_EQ(lower_tied(5000, "%z", again), kept);
  EXPECT_EQ(lower_tied(60, "%s", again), kept);
  EXPECT_EQ(lower_tied(5000, "%s", "Neg(%t)"),
            (Counts{{"gart.PackedMatMul", 1}, {"DequantizeLinear", 1}, {"Gather", 1}, {"Neg", 1}}));
}

TEST(QuantizedWeights, AreFloatsElsewhere) {
  for (const char* scales : {"%s", "%s, %o"}) EXPECT_EQ(op_counts(lower("sm_80", scales)), (Counts{{"MatMul", 1}}));
}

TEST(QuantizedWeights, ArePackedOnGpusForFewRows) {
  const auto lower_rows = [](int rows, int block, const char* type, const char* target_name, Precision precision) {
    Target target = *find_target(target_name);
    target.precision = precision;
    return op_counts(check_rewrite(concat("graph g(%x: f32[", rows, R"(,128]) -> (%y) {
      constant %q: )",
                                          type, R"([60,128] = random(1)
      constant %s: f32[60,)",
                                          128 / block, R"(] = random(2)
      %y = gart.QuantizedMatMul(%x, %q, %s) {block = )",
                                          block, R"(}
    })"),
                                   [&](Graph& g) { return lower_quantized_products(g, target); }, true, {}));
  };
  const Counts packed = {{"gart.PackedMatMul", 1}}, floats = {{"MatMul", 1}};
  for (const int block : {16, 32, 64, 128}) EXPECT_EQ(lower_rows(1, block, "i4", "sm_90a", Precision::fp16), packed);
  EXPECT_EQ(lower_rows(16, 32, "i8", "sm_80", Precision::bf16), packed);
  EXPECT_EQ(lower_rows(17, 32, "i8", "sm_80", Precision::bf16), floats);
  EXPECT_EQ(lower_rows(5, 32, "i4", "sm_90a", Precision::fp32), packed);  // each row takes three parts
  EXPECT_EQ(lower_rows(6, 32, "i4", "sm_90a", Precision::fp32), floats);
  EXPECT_EQ(lower_rows(1, 8, "i4", "sm_90a", Precision::fp16), floats);
  EXPECT_EQ(lower_rows(1, 32, "i2", "sm_90a", Precision::fp16), floats);
  EXPECT_EQ(lower_rows(1, 32, "i4", "sm_75", Precision::fp16), floats);
}

/// For blocks of 32, scales in f16 save a fourth of the bytes. The pass stores scales in f16 only if f16 holds them
/// exactly.
TEST(QuantizedWeights, ScalesOfGpusAreHalfWhereExact) {
  for (const bool exact : {true, false}) {
    const Graph after =
        check_rewrite(concat(R"(graph g(%x: f32[1,64]) -> (%y) {
      constant %q: i4[4,64] = random(1)
      constant %s: f32[4,1] = {0.5, )",
                             exact ? "0.25" : "0.1", R"(, 2, 1.5}
      %y = gart.QuantizedMatMul(%x, %q, %s) {block = 64}
    })"),
                      [&](Graph& g) { return lower_quantized_products(g, *find_target("sm_90a")); }, true, {});
    const Node& product = after.node(after.value(after.outputs[0]).producer);
    EXPECT_EQ(after.value(product.inputs[2]).stored, exact ? DType::f16 : DType::undefined);
  }
}

/// The gradient of a product reads the product's integers. On CPUs, a few rows at a time are widened to floats.
TEST(QuantizedWeights, TransposedProductsReadTheSameIntegers) {
  for (const char* type : {"i4", "u8"}) {
    const Graph after = keep(concat(R"(graph g(%x: f32[3,256], %g: f32[2,3,300]) -> (%y, %z) {
      constant %q: )",
                                    type, R"([300,256] = random(1)
      constant %s: f32[300,8] = random(2)
      constant %o: )",
                                    type, R"([300,8] = random(3)
      %w = DequantizeLinear(%q, %s, %o) {axis = 1, block_size = 32}
      %t = Transpose(%w) {perm = [1, 0]}
      %y = MatMul(%x, %t)
      %u = Transpose(%t) {perm = [1, 0]}
      %z = MatMul(%g, %u)
    })"),
                             true);
    EXPECT_EQ(op_counts(after), (Counts{{"gart.QuantizedMatMul", 2}}));
  }
  const auto lowered = [](const char* target, const char* type, const char* scales, int columns, int k) {
    return op_counts(check_rewrite(
        concat("graph g(%x: f32[1,", columns, R"(]) -> (%y) {
      constant %q: )",
               type, "[", columns, ",", k, R"(] = random(1)
      constant %s: f32[)",
               columns, ",", (k + 31) / 32, R"(] = random(2)
      constant %o: f32[)",
               columns, ",", (k + 31) / 32, R"(] = random(3)
      %y = gart.QuantizedMatMul(%x, %q, )",
               scales, R"() {block = 32, transposed = 1}
    })"),
        [&](Graph& g) { return lower_quantized_products(g, *find_target(target)); }, true));
  };
  const Counts one = {{"MatMul", 1}, {"gart.UnpackWeights", 1}},
               two = {{"Add", 1}, {"MatMul", 2}, {"Slice", 2}, {"gart.UnpackWeights", 2}};
  for (const char* type : {"i2", "i4", "i8"})
    for (const char* scales : {"%s", "%s, %o"}) {
      EXPECT_EQ(lowered("x86-64-v4", type, scales, 60, 100), one);
      EXPECT_EQ(lowered("sm_90a", type, scales, 60, 100), (Counts{{"MatMul", 1}}));
    }
  EXPECT_EQ(lowered("x86-64-v3", "i4", "%s", 2100, 2048), two);
}

/// Without a product that keeps the integers, weights with scales along the columns are widened to floats.
TEST(QuantizedWeights, TransposedProductsAloneStay) {
  keep(R"(graph g(%g: f32[3,300]) -> (%z) {
    constant %q: i4[300,256] = random(1)
    constant %s: f32[300,8] = random(2)
    %w = DequantizeLinear(%q, %s) {axis = 1, block_size = 32}
    %z = MatMul(%g, %w)
  })",
       false);
}

}  // namespace
}  // namespace gcg::test
