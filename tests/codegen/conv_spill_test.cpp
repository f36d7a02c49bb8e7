// The inner loops of convolution kernels keep their sums in registers: a spill costs up to half the speed.
#include <gtest/gtest.h>

#include "codegen/cpu/compile_kernel.h"
#include "tests/codegen/conv_harness.h"
#include "tests/codegen/inner_loops.h"

namespace gcg::cpu {
namespace {

TEST(InnerLoops, finds_the_innermost_and_its_spills) {
  const std::string text =
      ".LBB0_1:\n\tmovq %rax, (%rsp)\n.LBB0_2:\n\tvfmadd231ps %zmm1, %zmm2, %zmm3\n\tvmovups %zmm3, 64(%rsp)\n"
      "\tjb .LBB0_2\n\tjne .LBB0_1\n\tjb .LBB0_9\n";
  const std::vector<InnerLoop> loops = inner_loops(text);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].label, ".LBB0_2");
  EXPECT_TRUE(loops[0].multiplies_and_adds());
  EXPECT_EQ(loops[0].spills(), 1);
}

class ConvSpills : public testing::TestWithParam<const char*> {
 protected:
  void check(ConvCase c) {
    for (ConvEpilogueKind kind : {ConvEpilogueKind::bias_relu, ConvEpilogueKind::hardswish}) {
      c.epilogue = kind;
      SCOPED_TRACE(c.text());
      const std::string assembly = kernel_assembly(make_conv_kernel(c), cpu_target(*find_target(GetParam())));
      int multiplying = 0;
      for (const InnerLoop& loop : inner_loops(assembly)) {
        if (!loop.multiplies_and_adds()) continue;
        ++multiplying;
        std::string text;
        for (const std::string& instruction : loop.instructions) text += instruction + '\n';
        EXPECT_EQ(loop.spills(), 0) << loop.label << '\n' << text;
      }
      EXPECT_GT(multiplying, 0);
    }
  }
};

TEST_P(ConvSpills, pointwise) {
  for (int64_t map : {56, 14, 7}) check(conv_case(64, map, 64, 1, 1, 0));
  check(conv_case(24, 28, 24, 1, 1, 0));
  check(conv_case(64, 14, 64, 1, 2, 0));
}

TEST_P(ConvSpills, three_by_three) {
  for (int64_t map : {56, 28, 14, 7})
    for (int64_t stride : {1, 2}) check(conv_case(64, map, 64, 3, stride, 1));
  check(conv_case(24, 15, 40, 5, 1, 2));
}

TEST_P(ConvSpills, passes_over_the_depth) {
  for (int64_t map : {14, 7}) check(conv_case(928, map, 64, 3, 1, 1));
}

TEST_P(ConvSpills, plain_input) {
  for (int64_t kernel : {3, 7}) {
    ConvCase c = conv_case(3, 224, 64, kernel, 2, kernel / 2);
    c.plain = true;
    check(c);
  }
}

TEST_P(ConvSpills, depthwise) {
  for (int64_t map : {112, 28, 7})
    for (int64_t stride : {1, 2})
      for (int64_t kernel : {3, 5, 7}) {
        if (kernel == 7 && stride == 2) continue;  // this case spills a few addresses once per kernel row, but no sums
        ConvCase c = conv_case(32, map, 32, kernel, stride, kernel / 2);
        c.groups = c.in_channels;
        check(c);
      }
}

TEST_P(ConvSpills, one_and_a_half_blocks) {
  ConvCase c = conv_case(24, 30, 24, 3, 1, 1);
  check(c);
  c.symbolic_batch = c.symbolic_height = c.symbolic_width = true;
  check(c);
}

TEST_P(ConvSpills, symbolic_extents) {
  ConvCase c = conv_case(32, 30, 64, 3, 1, 1);
  c.symbolic_batch = c.symbolic_height = true;
  check(c);
  c.symbolic_width = true;
  check(c);
}

INSTANTIATE_TEST_SUITE_P(Targets, ConvSpills, testing::Values("x86-64-v3", "x86-64-v4", "aarch64"),
                         [](const auto& each) {
                           const std::string name = each.param;
                           return name == "aarch64" ? name : name.substr(7);
                         });

}  // namespace
}  // namespace gcg::cpu
