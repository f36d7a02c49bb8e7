// Convolution kernels against a double reference: borders, tails, strides, dilations, symbolic extents, epilogues.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "codegen/cpu/compile_kernel.h"
#include "tests/codegen/conv_harness.h"

namespace gcg::cpu {
namespace {

/// Runs the case with its tasks in pieces and in reverse order; the result must match the reference.
void check(const ConvCase& c, const std::string& target) {
  SCOPED_TRACE(target + ": " + c.text());
  if (!test::runs_here(target)) GTEST_SKIP() << "this machine cannot run " << target;
  const CompiledConv conv(c, target);
  ConvData data(c);
  const int64_t tasks = conv.tasks(), middle = tasks / 2 + 1;
  conv.run(data, std::min(middle, tasks), tasks);
  for (int64_t t = std::min(middle, tasks) - 1; t >= 0; --t) conv.run(data, t, t + 1);
  const int64_t depth = c.in_channels / c.groups * c.kernel_d * c.kernel_h * c.kernel_w;
  // Rounding errors grow with the depth, and the maximum error grows with the number of results.
  const double many = data.operands.back()->size() > 100000 ? 2 : 1;
  EXPECT_LT(conv_error(c, data), many * 2e-5 * std::max(1.0, static_cast<double>(depth) / 800));
}

class Conv : public testing::TestWithParam<const char*> {
 protected:
  void check(const ConvCase& c) { cpu::check(c, GetParam()); }
};

TEST_P(Conv, pointwise) {
  for (int64_t channels : {1, 3, 8, 16, 24, 48})
    for (int64_t map : {1, 2, 5, 7, 14, 15}) check(conv_case(channels, map, channels == 24 ? 40 : 32, 1, 1, 0));
  check(conv_case(64, 28, 64, 1, 1, 0));
  check(conv_case(16, 56, 24, 1, 1, 0));
}

TEST_P(Conv, every_output_tail) {
  for (int64_t channels : {1, 3, 8, 16, 17, 24, 32, 33, 48, 64, 65}) check(conv_case(16, 6, channels, 3, 1, 1));
}

TEST_P(Conv, three_by_three) {
  for (int64_t channels : {1, 3, 8, 16, 24, 48})
    for (int64_t map : {1, 2, 5, 7, 14, 15}) check(conv_case(channels, map, 32, 3, 1, 1));
  check(conv_case(16, 28, 48, 3, 1, 1));
  check(conv_case(16, 56, 16, 3, 1, 1));
}

TEST_P(Conv, tiles_of_several_rows) {
  for (int64_t width : {1, 2, 3, 4, 6, 7})
    for (int64_t stride : {1, 2}) {
      ConvCase c = conv_case(20, width, 48, 3, stride, 1);
      c.height = 9;
      c.epilogue = ConvEpilogueKind::residual_relu;
      check(c);
      c.pad_top = 3, c.pad_bottom = 0, c.dilation_h = 2;
      check(c);
    }
}

/// Weights and maps both exceed L2, so each group of channels covers several regions before the next group starts. The
/// last round has fewer regions.
TEST_P(Conv, groups_over_places_in_l2) {
  ConvCase c;
  c.in_channels = 384, c.width = 1700, c.height = 1, c.out_channels = 136, c.kernel_w = 3, c.stride_w = 2, c.batch = 2;
  for (int map = 0; map < 3; ++map) {
    if (map == 1) c.symbolic_width = true;
    if (map == 2) c = conv_case(1024, 40, 136, 1, 1, 0);
    if (test::runs_here(GetParam())) {
      const std::string note = CompiledConv(c, GetParam()).info().note;
      EXPECT_NE(note.find("weights over"), std::string::npos) << c.text() << ": " << note;
    }
    check(c);
  }
}

/// Weight panels that are too large for a near cache are read in passes over the depth; scratch memory holds the sums
/// between passes.
TEST_P(Conv, passes_over_the_depth) {
  for (int64_t map : {1, 4, 15})
    for (int symbolic = 0; symbolic < 3; ++symbolic) {
      ConvCase c = conv_case(948, map, 40, 3, 1, 1);
      c.symbolic_width = symbolic > 0, c.symbolic_height = symbolic > 1;
      c.epilogue = ConvEpilogueKind::residual_relu;
      check(c);
    }
  ConvCase c = conv_case(960, 9, 72, 3, 2, 1);
  c.batch = 2, c.dilation_h = 2;
  check(c);
  c = ConvCase();
  c.in_channels = 48, c.width = 300, c.height = 1, c.out_channels = 40, c.kernel_w = 190, c.pad_left = 95,
  c.pad_right = 94;
  check(c);
  c.symbolic_width = true;
  check(c);
  c = conv_case(8320, 3, 16, 1, 1, 0);
  check(c);
  c = conv_case(320, 3, 24, 3, 1, 1);
  c.depth = 4, c.kernel_d = 3, c.pad_front = c.pad_back = 1;
  check(c);
}

TEST_P(Conv, large_kernels) {
  for (int64_t map : {2, 7, 14, 15})
    for (int64_t kernel : {5, 7}) check(conv_case(8, map, 16, kernel, 1, kernel / 2));
  check(conv_case(3, 28, 24, 7, 2, 3));
}

TEST_P(Conv, strides) {
  for (int64_t stride : {2, 3})
    for (int64_t kernel : {1, 3, 5})
      for (int64_t map : {5, 14, 15}) check(conv_case(24, map, 32, kernel, stride, kernel / 2));
}

TEST_P(Conv, dilation) {
  for (int64_t map : {5, 14, 15}) {
    ConvCase c = conv_case(24, map, 32, 3, 1, 2);
    c.dilation_h = c.dilation_w = 2;
    check(c);
    c.stride_w = 2;
    check(c);
    c.in_channels = 16;
    check(c);
    c.groups = c.in_channels;
    c.out_channels = c.in_channels;
    check(c);
  }
}

/// Large dilations on maps of symbolic size: all pixels miss the same taps, in one direction or in both.
TEST_P(Conv, atrous_maps) {
  const auto check_map = [this](int64_t channels, int64_t height, int64_t width, int64_t dilation) {
    ConvCase c = conv_case(channels, height, 48, 3, 1, dilation);
    c.width = width, c.batch = 2, c.dilation_h = c.dilation_w = dilation;
    c.symbolic_batch = c.symbolic_height = c.symbolic_width = true;
    check(c);
  };
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{1, 3}, {4, 4}, {3, 17}, {9, 2}, {15, 16}})
    check_map(24, height, width, 4);
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{7, 6}, {3, 17}})
    check_map(960, height, width, 7);  // here the panel is read in passes
}

TEST_P(Conv, uneven_pads) {
  ConvCase c = conv_case(16, 7, 32, 3, 1, 0);
  c.pad_right = c.pad_bottom = 1;
  check(c);
  c.stride_h = c.stride_w = 2;
  check(c);
  c.pad_top = 3, c.pad_left = 2, c.pad_bottom = 0, c.pad_right = 4;
  check(c);
}

TEST_P(Conv, pads_beyond_the_map) {
  ConvCase c = conv_case(16, 2, 32, 3, 1, 6);
  check(c);
  c.groups = c.in_channels;
  c.out_channels = 16;
  check(c);
  c.groups = 1;
  c.plain = true;
  check(c);
  c.plain = false;
  c.symbolic_width = c.symbolic_height = true;
  check(c);
}

/// A pixel whose window lies wholly in the padding has no taps, at any distance from the image.
TEST_P(Conv, pads_beyond_the_kernel) {
  for (int form = 0; form < 3; ++form)
    for (int64_t pad : {3, 4, 20})
      for (int64_t dilation : {1, 2})
        for (bool symbolic : {false, true}) {
          ConvCase c = conv_case(form == 2 ? 3 : 16, 9, form == 1 ? 16 : 24, 3, 1, 0);
          c.groups = form == 1 ? c.in_channels : 1, c.plain = form == 2;
          c.symbolic_width = c.symbolic_height = symbolic;
          c.dilation_h = c.dilation_w = dilation;
          c.pad_left = pad;
          check(c);
          c.pad_top = c.pad_bottom = c.pad_right = pad, c.stride_w = 2;
          check(c);
        }
}

TEST_P(Conv, one_dimensional) {
  ConvCase c;
  c.in_channels = 24, c.height = 1, c.width = 200, c.out_channels = 48, c.kernel_w = 3;
  c.pad_left = c.pad_right = 1;
  check(c);
  c.symbolic_width = true;
  check(c);
  c.groups = c.in_channels;
  c.out_channels = c.in_channels;
  check(c);
}

/// Rows shorter and longer than the kernel's extent: border tiles, clipped tiles, and rows without either.
TEST_P(Conv, rows_shorter_than_the_kernel) {
  for (int64_t width : {1, 2, 5, 8, 15, 23, 31})
    for (bool depthwise : {false, true}) {
      ConvCase c;
      c.in_channels = depthwise ? 20 : 24, c.height = 1, c.width = width, c.out_channels = depthwise ? 20 : 40,
      c.kernel_w = 15;
      c.groups = depthwise ? c.in_channels : 1;
      c.pad_left = 7, c.pad_right = 6, c.symbolic_width = true;
      check(c);
      c.dilation_w = 2, c.pad_left = c.pad_right = 14, c.stride_w = 2;
      check(c);
    }
}

TEST_P(Conv, long_kernels_on_a_signal) {
  ConvCase c;
  c.plain = true;
  c.in_channels = 1, c.height = 1, c.width = 1500, c.out_channels = 130, c.kernel_w = 256, c.stride_w = 128;
  check(c);
  c.kernel_w = 128, c.stride_w = 64, c.pad_left = c.pad_right = 70;
  check(c);
  c.symbolic_width = true;
  check(c);
}

TEST_P(Conv, plain_input) {
  for (int64_t channels : {1, 3, 4})
    for (int64_t map : {5, 28, 31}) {
      ConvCase c = conv_case(channels, map, channels == 4 ? 24 : 64, map == 31 ? 7 : 3, 2, map == 31 ? 3 : 1);
      c.plain = true;
      check(c);
    }
}

TEST_P(Conv, depthwise) {
  for (int64_t channels : {1, 8, 16, 24, 48})
    for (int64_t map : {1, 2, 5, 7, 14, 15})
      for (int64_t kernel : {3, 5})
        for (int64_t stride : {1, 2}) {
          ConvCase c = conv_case(channels, map, channels, kernel, stride, kernel / 2);
          c.groups = c.in_channels;
          check(c);
        }
  for (int64_t kernel : {3, 7, 9}) {
    ConvCase c = conv_case(16, 56, 16, kernel, 1, kernel / 2);
    c.groups = c.in_channels;
    check(c);
    c.symbolic_width = c.symbolic_height = true;
    check(c);
  }
}

TEST_P(Conv, symbolic_extents) {
  for (int form = 0; form < 3; ++form)
    for (int64_t map : {1, 4, 7, 30})
      for (int64_t kernel : {1, 3, 5})
        for (int64_t stride : {1, 2}) {
          ConvCase c = conv_case(form == 2 ? 3 : 24, map, form == 1 ? 24 : 40, kernel, stride, kernel / 2);
          c.groups = form == 1 ? c.in_channels : 1, c.plain = form == 2;
          c.symbolic_batch = c.symbolic_height = true;
          c.batch = 2;
          check(c);
          c.symbolic_width = true;
          check(c);
        }
}

TEST_P(Conv, batches) {
  for (int64_t map : {7, 14}) {
    ConvCase c = conv_case(48, map, 96, 3, 1, 1);
    c.batch = 3;
    check(c);
    c.symbolic_batch = true;
    check(c);
    c.kernel_h = c.kernel_w = 1, c.pad_top = c.pad_left = c.pad_bottom = c.pad_right = 0;
    check(c);
  }
}

TEST_P(Conv, epilogues) {
  for (ConvEpilogueKind kind : {ConvEpilogueKind::none, ConvEpilogueKind::bias, ConvEpilogueKind::bias_relu,
                                ConvEpilogueKind::residual_relu, ConvEpilogueKind::relu6, ConvEpilogueKind::hardswish,
                                ConvEpilogueKind::sigmoid, ConvEpilogueKind::snake, ConvEpilogueKind::row_scale}) {
    ConvCase c = conv_case(16, 7, 48, 1, 1, 0);
    c.epilogue = kind;
    c.result_block_offset = 1;
    check(c);
    c.symbolic_height = c.symbolic_width = true;
    check(c);
    c = conv_case(16, 7, 16, 3, 1, 1);
    c.epilogue = kind;
    c.groups = c.in_channels;
    check(c);
  }
}

/// A long epilogue is emitted once for all pixels of a tile, not once for each.
TEST_P(Conv, long_epilogues_add_little_code) {
  const auto bytes = [&](ConvEpilogueKind kind) {
    ConvCase c = conv_case(32, 20, 48, 3, 1, 1);
    c.epilogue = kind;
    c.symbolic_height = c.symbolic_width = true;
    return kernel_assembly(make_conv_kernel(c), cpu_target(*find_target(GetParam()))).size();
  };
  EXPECT_LT(bytes(ConvEpilogueKind::snake), 3 * bytes(ConvEpilogueKind::bias_relu));
}

INSTANTIATE_TEST_SUITE_P(Targets, Conv, testing::Values("x86-64-v3", "x86-64-v4"),
                         [](const auto& each) { return std::string(each.param).substr(7); });

}  // namespace
}  // namespace gcg::cpu
