// Convolution kernels of groups and of three dimensions against a double reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/codegen/conv_harness.h"

namespace gcg::cpu {
namespace {

class ConvGroups : public testing::TestWithParam<const char*> {
 protected:
  /// Runs the case task by task in reverse order; the result must match the reference.
  void check(const ConvCase& c) {
    SCOPED_TRACE(std::string(GetParam()) + ": " + c.text());
    if (!test::runs_here(GetParam())) GTEST_SKIP() << "this machine cannot run " << GetParam();
    const CompiledConv conv(c, GetParam());
    ConvData data(c);
    for (int64_t t = conv.tasks() - 1; t >= 0; --t) conv.run(data, t, t + 1);
    EXPECT_LT(conv_error(c, data), 2e-5);
  }

  void check_fixed_and_open(ConvCase c) {
    check(c);
    c.symbolic_batch = c.symbolic_height = c.symbolic_width = true;
    c.symbolic_depth = c.depth > 0;
    check(c);
  }
};

ConvCase grouped(int64_t groups, int64_t inputs, int64_t outputs, int64_t map, int64_t kernel = 3, int64_t stride = 1) {
  ConvCase c = conv_case(groups * inputs, map, groups * outputs, kernel, stride, kernel / 2);
  c.groups = groups;
  c.batch = 2;
  return c;
}

TEST_P(ConvGroups, of_whole_blocks) {
  for (int64_t map : {1, 7, 15}) check_fixed_and_open(grouped(3, 16, 16, map));
  check_fixed_and_open(grouped(2, 32, 64, 9, 1));
  check_fixed_and_open(grouped(2, 48, 16, 9, 3, 2));
  check(grouped(3, 16, 96, 14));
  check(grouped(2, 64, 32, 7, 1));
}

TEST_P(ConvGroups, narrower_than_a_vector) {
  for (int64_t width : {2, 4, 8}) check_fixed_and_open(grouped(5, width, width, 9));
  check(grouped(32, 4, 4, 14));
  check(grouped(13, 8, 8, 15, 3, 2));
  check(grouped(6, 8, 4, 6));
  check(grouped(6, 2, 8, 6, 5));
  check(grouped(3, 4, 2, 6));
  check(grouped(10, 8, 4, 3, 1));  // the last vector holds no channels
  check(grouped(17, 16, 1, 4));
}

TEST_P(ConvGroups, across_vectors_and_blocks) {
  for (int64_t width : {3, 5, 6, 7, 9, 10, 11, 12, 15, 20, 24, 33}) check(grouped(3, width, width, 6));
  check_fixed_and_open(grouped(3, 80, 20, 7, 1));
  check_fixed_and_open(grouped(4, 3, 24, 12));
  check(grouped(2, 24, 16, 7));
  check(grouped(2, 16, 24, 7));
  check(grouped(7, 6, 2, 5));
}

TEST_P(ConvGroups, of_one_channel_with_several_outputs) {
  for (int64_t outputs : {2, 3, 4, 8, 16, 20}) check_fixed_and_open(grouped(9, 1, outputs, 8));
  check(grouped(64, 1, 2, 14, 5));
}

TEST_P(ConvGroups, of_several_channels_with_one_output) {
  for (int64_t inputs : {2, 3, 16, 20}) check(grouped(9, inputs, 1, 8));
}

TEST_P(ConvGroups, borders) {
  for (int64_t width : {4, 20}) {
    ConvCase c = grouped(3, width, width, 5);
    c.pad_top = 4, c.pad_left = 0, c.pad_right = 5, c.dilation_w = 2, c.stride_h = 2;
    check_fixed_and_open(c);
    c.pad_left = 9;
    check_fixed_and_open(c);
  }
}

TEST_P(ConvGroups, of_signals) {
  for (int64_t width : {1, 4, 6, 16}) {
    ConvCase c = grouped(4, width, width, 50);
    c.height = 1, c.kernel_h = 1, c.pad_top = c.pad_bottom = 0, c.dilation_w = 4, c.pad_left = 8, c.pad_right = 0;
    check_fixed_and_open(c);
  }
}

TEST_P(ConvGroups, keep_to_themselves) {
  if (!test::runs_here(GetParam())) GTEST_SKIP() << "this machine cannot run " << GetParam();
  for (int64_t width : {4, 6, 20}) {
    const ConvCase c = grouped(3, width, width, 4);
    const CompiledConv conv(c, GetParam());
    ConvData data(c);
    for (int64_t i = 0; i < data.operands[0]->size(); ++i) {  // only the second group reads infinities
      const int64_t channel = i / 16 / 16 % c.in_blocks() * 16 + i % 16;
      if (channel / width == 1) (*data.operands[0])[i] = std::numeric_limits<float>::infinity();
    }
    conv.run(data);
    for (int64_t i = 0; i < data.operands[4]->size(); ++i) {
      const int64_t channel = i / 16 / 16 % c.out_blocks() * 16 + i % 16;
      if (channel >= c.out_channels) continue;
      EXPECT_EQ(std::isfinite((*data.operands[4])[i]), channel / width != 1) << c.text() << " " << channel;
    }
  }
}

ConvCase volume(int64_t inputs, int64_t depth, int64_t map, int64_t outputs, int64_t kernel = 3) {
  ConvCase c = conv_case(inputs, map, outputs, kernel, 1, kernel / 2);
  c.depth = depth;
  c.kernel_d = kernel, c.pad_front = c.pad_back = kernel / 2;
  c.epilogue = ConvEpilogueKind::residual_relu;
  return c;
}

TEST_P(ConvGroups, three_dimensions) {
  for (int64_t depth : {1, 2, 5}) check_fixed_and_open(volume(24, depth, 7, 40));
  check_fixed_and_open(volume(16, 3, 14, 32, 1));
  ConvCase c = volume(17, 6, 9, 33);
  c.stride_d = 2, c.dilation_d = 2, c.pad_front = 5, c.pad_back = 0, c.stride_w = 2, c.batch = 2;
  check_fixed_and_open(c);
  c.kernel_h = c.kernel_w = 1, c.pad_top = c.pad_left = c.pad_bottom = c.pad_right = 0;
  check_fixed_and_open(c);
}

TEST_P(ConvGroups, three_dimensions_plain_depthwise_and_grouped) {
  ConvCase c = volume(3, 5, 9, 24);
  c.plain = true;
  check_fixed_and_open(c);
  c = volume(20, 5, 9, 20);
  c.groups = 20;
  check_fixed_and_open(c);
  c.stride_d = 2, c.pad_front = 4;
  check_fixed_and_open(c);
  for (int64_t groups : {2, 4, 10}) {
    c.groups = groups;
    check_fixed_and_open(c);
  }
  c = volume(32, 4, 6, 64);
  c.groups = 2;
  check_fixed_and_open(c);
}

INSTANTIATE_TEST_SUITE_P(Targets, ConvGroups, testing::Values("x86-64-v3", "x86-64-v4"),
                         [](const auto& each) { return std::string(each.param).substr(7); });

}  // namespace
}  // namespace gcg::cpu
