// From quantised models to contractions of bytes: integer_contractions, lower_integers, merge_quantization.
#include <gtest/gtest.h>

#include "compiler/ops/op_def.h"
#include "compiler/passes/eliminate_dead_code.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/integer_contractions.h"
#include "compiler/passes/lower_integers.h"
#include "compiler/passes/merge_quantization.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

bool lower_for_cpu(Graph& g) { return lower_integers(g, *find_target("x86-64-v3")); }
bool lower_for_gpu(Graph& g) { return lower_integers(g, *find_target("sm_80")); }

/// Counts only nodes whose results are read.
int count(const Graph& g, const std::string& op) {
  Graph live = g.clone();
  eliminate_dead_code(live);
  const Counts counts = op_counts(live);
  const auto it = counts.find(op);
  return it == counts.end() ? 0 : it->second;
}

TEST(IntegerContractions, TakesProductsOfDequantizedValues) {
  const Graph after = check_rewrite(R"(graph g(%x: f32[n,4]) -> (%y) {
    constant %s: f32[] = {0.03125}
    constant %z: u8[] = {100}
    constant %w: i8[4,3] = {1, -2, 127, 4, -128, 6, 7, 8, 9, -10, 11, 12}
    constant %ws: f32[3] = {0.5, 0.25, 2}
    %q = QuantizeLinear(%x, %s, %z)
    %d = DequantizeLinear(%q, %s, %z)
    %e = DequantizeLinear(%w, %ws) {axis = 1}
    %y = MatMul(%d, %e)
  })",
                                    integer_contractions, true, {{"n", 3}});
  EXPECT_EQ(count(after, "MatMulInteger"), 1);
  EXPECT_EQ(count(after, "MatMul"), 0);
}

TEST(IntegerContractions, AddsAQuantizedBiasToTheSums) {
  for (const char* scale : {"{0.015625, 0.0078125}", "{1, 0.0078125}"}) {
    const Graph after = check_rewrite(std::string(R"(graph g(%x: f32[2,2,4,4]) -> (%y) {
      constant %s: f32[] = {0.03125}
      constant %w: i8[2,2,1,1] = {1, -2, 127, 4}
      constant %ws: f32[2] = {0.5, 0.25}
      constant %b: i32[2] = {1000, -2000}
      constant %bs: f32[2] = )") + scale + R"(
      %q = QuantizeLinear(%x, %s)
      %d = DequantizeLinear(%q, %s)
      %e = DequantizeLinear(%w, %ws) {axis = 0}
      %f = DequantizeLinear(%b, %bs) {axis = 0}
      %y = Conv(%d, %e, %f)
    })",
                                      integer_contractions, true);
    EXPECT_EQ(count(after, "ConvInteger"), 1);
    EXPECT_EQ(count(after, "DequantizeLinear") > 0, scale[1] == '1') << "a bias of another scale stays a float";
  }
}

TEST(IntegerContractions, SeesThroughTheTransposeOfGemm) {
  const Graph after = check_rewrite(R"(graph g(%x: f32[2,4]) -> (%y) {
    constant %s: f32[] = {0.03125}
    constant %w: u8[3,4] = {1, 2, 127, 4, 255, 6, 7, 8, 9, 10, 11, 12}
    constant %wz: u8[3] = {1, 128, 3}
    constant %ws: f32[3] = {0.5, 0.25, 2}
    constant %c: f32[3] = {1, 2, 3}
    %q = QuantizeLinear(%x, %s)
    %d = DequantizeLinear(%q, %s)
    %e = DequantizeLinear(%w, %ws, %wz) {axis = 0}
    %y = Gemm(%d, %e, %c) {transB = 1}
  })",
                                    integer_contractions, true);
  EXPECT_EQ(count(after, "MatMulInteger"), 1);
}

TEST(IntegerContractions, TakesGroups) {
  const Graph after = check_rewrite(R"(graph g(%x: u8[1,2,3,3]) -> (%y) {
    constant %s: f32[] = {0.5}
    constant %w: i8[2,1,1,1] = {1, 2}
    %d = DequantizeLinear(%x, %s)
    %e = DequantizeLinear(%w, %s)
    %y = Conv(%d, %e) {group = 2}
  })",
                                    integer_contractions, true);
  EXPECT_EQ(count(after, "ConvInteger"), 1);
}

TEST(IntegerContractions, LeavesScalesAlongTheInnerExtent) {
  check_rewrite(R"(graph g(%x: u8[2,2]) -> (%y) {
    constant %s: f32[] = {0.5}
    constant %w: i8[2,2] = {1, 2, 3, 4}
    constant %ws: f32[2] = {0.5, 0.25}
    %d = DequantizeLinear(%x, %s)
    %e = DequantizeLinear(%w, %ws) {axis = 0}
    %y = MatMul(%d, %e)
  })",
                integer_contractions, false);
}

TEST(LowerIntegers, PacksConstantMatrices) {
  for (const char* zeros : {"", ", %az", ", %az, %bz", ", %rows"}) {
    const Graph after = check_rewrite(std::string(R"(graph g(%x: f32[2,6]) -> (%y) {
      constant %s: f32[] = {0.03125}
      constant %z: i8[] = {5}
      constant %az: i8[] = {-7}
      constant %rows: i8[2] = {-7, 9}
      constant %bz: i8[3] = {0, -128, 100}
      constant %b: i8[6,3] = {1, -2, 127, 4, -128, 6, 7, 8, 9, -10, 11, 12, 13, 14, -128, 16, 17, 18}
      %a = QuantizeLinear(%x, %s, %z)
      %y = MatMulInteger(%a, %b)") + zeros +
                                          ")\n}",
                                      lower_for_cpu, true);
    EXPECT_EQ(count(after, "gart.PackedMatMul"), std::string(zeros).find("bz") == std::string::npos ? 1 : 2)
        << "weights of nine bits are the sum of two of eight";
    EXPECT_EQ(count(after, "MatMulInteger"), 0);
  }
}

TEST(LowerIntegers, ConvolutionsPadWithTheZeroPoint) {
  for (const char* attributes : {"", " {pads = [1,1,1,1]}", " {auto_pad = \"SAME_UPPER\", strides = [2,2]}"}) {
    const Graph after = check_rewrite(std::string(R"(graph g(%x: f32[1,17,5,5]) -> (%y) {
      constant %s: f32[] = {0.03125}
      constant %z: u8[] = {100}
      constant %w: i8[2,17,3,3] = random(1)
      %q = QuantizeLinear(%x, %s, %z)
      %y = ConvInteger(%q, %w, %z))") + attributes +
                                          "\n}",
                                      lower_for_cpu, true);
    EXPECT_EQ(count(after, "ConvInteger"), 1);
    EXPECT_EQ(count(after, "Pad"), *attributes != 0);
  }
}

TEST(LowerIntegers, ComputesInFloatsWhatNoKernelOfBytesTakes) {
  const std::string grouped = R"(graph g(%x: u8[1,4,5,5]) -> (%y) {
    constant %w: i8[4,2,3,3] = random(1)
    %y = ConvInteger(%x, %w) {group = 2}
  })";
  EXPECT_EQ(count(check_rewrite(grouped, lower_for_cpu, true), "Conv"), 1);
  EXPECT_EQ(count(check_rewrite(grouped, lower_for_gpu, true), "Conv"), 1);
  const std::string few = R"(graph g(%x: u8[1,2,5,5]) -> (%y) {
    constant %z: u8[] = {100}
    constant %w: i8[4,2,3,3] = random(1)
    %y = ConvInteger(%x, %w, %z) {pads = [1,1,1,1]}
  })";
  EXPECT_EQ(count(check_rewrite(few, lower_for_cpu, true), "Conv"), 1);
  const std::string product = R"(graph g(%a: u8[3,8], %b: i8[8,5]) -> (%y) {
    constant %z: u8[3] = {1, 2, 3}
    %y = MatMulInteger(%a, %b, %z)
  })";
  EXPECT_EQ(count(check_rewrite(product, lower_for_cpu, true), "MatMul"), 1);
  EXPECT_EQ(count(check_rewrite(product, lower_for_gpu, true), "MatMul"), 1);
  check_rewrite(R"(graph g(%a: u8[1,300], %b: i8[300,1]) -> (%y) {
    %y = MatMulInteger(%a, %b)
  })",
                lower_for_cpu, false);  // f32 might not be exact here
}

TEST(LowerIntegers, AnImageOfThreeChannelsStaysBytes) {
  const std::string first = R"(graph g(%x: u8[1,3,9,9]) -> (%y) {
    constant %z: u8[] = {100}
    constant %w: i8[4,3,3,3] = random(1)
    %y = ConvInteger(%x, %w, %z) {pads = [1,1,1,1], strides = [2,2]}
  })";
  const Graph after = check_rewrite(first, lower_for_cpu, true);
  EXPECT_EQ(count(after, "ConvInteger"), 1);
  EXPECT_EQ(count(after, "Conv"), 0);
}

TEST(LowerIntegers, WeightsOfFloatsAreConstantsWhateverTheirSize) {
  const std::string conv = R"(graph g(%x: u8[1,2,9,9]) -> (%y) {
    constant %w: i8[80,2,7,7] = random(1)
    constant %z: u8[] = {100}
    constant %v: i8[80] = random(2)
    %y = ConvInteger(%x, %w, %z, %v)
  })";
  EXPECT_EQ(count(check_rewrite(conv, lower_for_cpu, true), "Cast"), 3) << "of the image, its zero point, and the sums";
}

TEST(MergeQuantization, ChosenRowsStayBytes) {
  for (const char* chosen :
       {"Gather(%d, %i)", "GatherND(%d, %i)", "Tile(%d, %i)", "Transpose(%r)", "Resize(%d, _, _, %i)"}) {
    const Graph after = check_rewrite(std::string(R"(graph g(%q: i8[3,8]) -> (%y) {
      constant %s: f32[] = {0.03125}
      constant %z: i8[] = {3}
      constant %i: i64[2] = {2, 1}
      constant %l: i64[2] = {8, 3}
      %d = DequantizeLinear(%q, %s, %z)
      %r = Reshape(%d, %l)
      %m = )") + chosen + R"(
      %y = QuantizeLinear(%m, %s, %z)
    })",
                                      merge_quantization, true);
    EXPECT_EQ(count(after, "DequantizeLinear") + count(after, "QuantizeLinear"), 0) << chosen;
  }
}

TEST(MergeQuantization, PartsThatAreChosenStayBytes) {
  const Graph after = check_rewrite(R"(graph g(%q: i8[2,6]) -> (%y, %w) {
    constant %s: f32[] = {0.03125}
    constant %z: i8[] = {3}
    constant %p: i64[2] = {2, 4}
    %d = DequantizeLinear(%q, %s, %z)
    %a, %b = Split(%d, %p) {axis = 1}
    %y = QuantizeLinear(%a, %s, %z)
    %w = QuantizeLinear(%b, %s, %z)
  })",
                                    merge_quantization, true);
  EXPECT_EQ(count(after, "DequantizeLinear") + count(after, "QuantizeLinear"), 0);
}

TEST(MergeQuantization, RowsOfATableAreRowsOfAQuantisedTable) {
  const Graph after = check_rewrite(R"(graph g(%i: i64[3]) -> (%y) {
    constant %t: f32[2,4] = {0, 0.1, -0.046875, 0.015625, 9, -9, 1, 0.03}
    constant %s: f32[] = {0.03125}
    constant %z: i8[] = {3}
    %r = Gather(%t, %i)
    %y = QuantizeLinear(%r, %s, %z)
  })",
                                    merge_quantization, true);
  const Node& gather = after.node(after.value(after.outputs[0]).producer);
  EXPECT_EQ(gather.op->name, std::string("Gather"));
  EXPECT_EQ(after.value(gather.inputs[0]).dtype, DType::i8);
}

TEST(MergeQuantization, AnInputThatComesBackIsCopied) {
  const Graph after = check_rewrite(R"(graph g(%q: i8[2,3]) -> (%y) {
    constant %s: f32[] = {0.03125}
    constant %z: i8[] = {3}
    %d = DequantizeLinear(%q, %s, %z)
    %y = QuantizeLinear(%d, %s, %z)
  })",
                                    merge_quantization, true);
  EXPECT_EQ(count(after, "Identity"), 1);
  EXPECT_EQ(count(after, "QuantizeLinear"), 0);
}

TEST(FoldConstants, WidensWeightsOfBytesButNotTablesOfThem) {
  const auto fold = [](Graph& g) { return fold_constants(g); };
  const std::string weights = R"(
    constant %s: f32[] = {0.5}
    constant %w: i8[200,200] = fill(3)
    %d = DequantizeLinear(%w, %s)
  )";
  EXPECT_EQ(count(check_rewrite("graph g(%x: f32[2,200]) -> (%y) {" + weights + "%y = MatMul(%x, %d) }", fold, true),
                  "DequantizeLinear"),
            0);
  EXPECT_EQ(count(check_rewrite("graph g(%x: f32[2,200]) -> (%y) {" + weights +
                                    "constant %i: i64[2] = {1, 0} %g = Gather(%d, %i) %y = Add(%x, %g) }",
                                fold, false),
                  "DequantizeLinear"),
            1);
}

TEST(FoldConstants, GrowthIsCountedInElements) {
  const auto fold = [](Graph& g) { return fold_constants(g); };
  const Graph scaled = check_rewrite(R"(graph g(%x: f32[2,200]) -> (%y) {
    constant %s: f32[200] = fill(0.5)
    constant %w: i8[200,200] = fill(3)
    %c = Cast(%w) {to = 1}
    %d = Mul(%c, %s)
    %y = MatMul(%x, %d)
  })",
                                     fold, true);
  EXPECT_EQ(count(scaled, "Cast") + count(scaled, "Mul"), 0);
  const Graph spread = check_rewrite(R"(graph g(%x: f32[200,200]) -> (%y) {
    constant %a: f32[200,1] = fill(0.5)
    constant %b: f32[1,200] = fill(3)
    %d = Mul(%a, %b)
    %y = MatMul(%x, %d)
  })",
                                     fold, false);
  EXPECT_EQ(count(spread, "Mul"), 1);
}

TEST(LowerIntegers, SignedActivationsBecomeUnsignedUpToWhereTheyAreQuantized) {
  const Graph after = check_rewrite(R"(graph g(%x: f32[16,6]) -> (%y, %r) {
    constant %s: f32[] = {0.03125}
    constant %z: i8[] = {-128}
    constant %w: i8[16,4] = random(1)
    %q = QuantizeLinear(%x, %s, %z)
    %p = Transpose(%q) {perm = [1,0]}
    %y = MatMulInteger(%p, %w, %z)
    %r = DequantizeLinear(%q, %s, %z)
  })",
                                    lower_for_cpu, true);
  EXPECT_EQ(count(after, "Cast"), 0);
  EXPECT_EQ(count(after, "QuantizeLinear"), 1);
}

TEST(MergeQuantization, GoesThroughWhatOnlyChooses) {
  const Graph after = check_rewrite(R"(graph g(%x: f32[1,2,4,4], %v: f32[1,1,4,4]) -> (%y) {
    constant %s: f32[] = {0.03125}
    constant %z: u8[] = {64}
    %q = QuantizeLinear(%x, %s, %z)
    %r = QuantizeLinear(%v, %s, %z)
    %d = DequantizeLinear(%q, %s, %z)
    %e = DequantizeLinear(%r, %s, %z)
    %c = Concat(%d, %e) {axis = 1}
    %t = QuantizeLinear(%c, %s, %z)
    %f = DequantizeLinear(%t, %s, %z)
    %p = MaxPool(%f) {kernel_shape = [2,2]}
    %y = QuantizeLinear(%p, %s, %z)
  })",
                                    merge_quantization, true);
  EXPECT_EQ(count(after, "DequantizeLinear"), 0);
}

TEST(MergeQuantization, LeavesOtherScales) {
  check_rewrite(R"(graph g(%q: u8[1,2,4,4]) -> (%y) {
    constant %s: f32[] = {0.03125}
    constant %t: f32[] = {0.0625}
    %d = DequantizeLinear(%q, %s)
    %p = MaxPool(%d) {kernel_shape = [2,2]}
    %y = QuantizeLinear(%p, %t)
  })",
                merge_quantization, false);
}

TEST(MergeQuantization, LeavesWhatMixesPixels) {
  check_rewrite(R"(graph g(%q: i8[1,1,3,8]) -> (%y) {
    constant %s: f32[] = {0.03125}
    constant %i: i64[4] = {1, 1, 6, 16}
    %d = DequantizeLinear(%q, %s)
    %r = Resize(%d, _, _, %i) {mode = "linear"}
    %y = QuantizeLinear(%r, %s) {output_dtype = 3}
  })",
                merge_quantization, false);
}

TEST(MergeQuantization, DividesAFactor) {
  const Graph after = check_rewrite(R"(graph g(%x: f32[2,3]) -> (%y) {
    constant %f: f32[3] = {4, 8, 16}
    constant %b: f32[3] = {1, 2, -3}
    constant %s: f32[] = {0.25}
    constant %z: u8[] = {0}
    %m = Mul(%x, %f)
    %a = Add(%m, %b)
    %r = Relu(%a)
    %y = QuantizeLinear(%r, %s, %z)
  })",
                                    merge_quantization, true);
  EXPECT_EQ(count(after, "Relu"), 0);
}

TEST(MergeQuantization, DividesTheScalesOfASum) {
  const Graph after = check_rewrite(R"(graph g(%p: u8[2,3], %q: u8[2,3]) -> (%y) {
    constant %s: f32[] = {0.5}
    constant %t: f32[] = {0.25}
    constant %z: u8[] = {3}
    constant %u: f32[] = {2}
    constant %o: u8[] = {0}
    %a = DequantizeLinear(%p, %s, %z)
    %b = DequantizeLinear(%q, %t)
    %c = Add(%a, %b)
    %r = Relu(%c)
    %y = QuantizeLinear(%r, %u, %o)
  })",
                                    merge_quantization, true);
  EXPECT_EQ(count(after, "Relu"), 0);
  for (NodeId id : after.order()) {
    const Node& n = after.node(id);
    if (n.op->name != std::string_view("QuantizeLinear")) continue;
    EXPECT_EQ(after.value(n.inputs[1]).constant->at_double(0), 1);
  }
}

TEST(MergeQuantization, LeavesASumOfOneProduct) {
  check_rewrite(R"(graph g(%p: u8[2,3], %x: f32[2,3]) -> (%y) {
    constant %s: f32[] = {0.5}
    %a = DequantizeLinear(%p, %s)
    %c = Add(%a, %x)
    %y = QuantizeLinear(%c, %s)
  })",
                merge_quantization, false);
}

}  // namespace
}  // namespace gcg::test
