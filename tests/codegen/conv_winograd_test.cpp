// Convolutions by Winograd's algorithm against a double reference: borders, partial tiles, channel tails, open extents.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/kernel/winograd.h"
#include "tests/codegen/conv_harness.h"

namespace gcg::cpu {
namespace {

/// Runs tasks in pieces and in reverse order; the result must match the reference.
void check(const ConvCase& c, const std::string& target) {
  SCOPED_TRACE(target + ": " + c.text());
  if (!test::runs_here(target)) GTEST_SKIP() << "this machine cannot run " << target;
  const CompiledConv conv(c, target);
  ConvData data(c);
  const int64_t tasks = conv.tasks(), middle = std::min(tasks / 2 + 1, tasks);
  conv.run(data, middle, tasks);
  for (int64_t t = middle - 1; t >= 0; --t) conv.run(data, t, t + 1);
  EXPECT_LT(conv_error(c, data), 6e-5 * std::max(1.0, static_cast<double>(c.in_channels) / 80));
}

ConvCase winograd_case(int64_t in_channels, int64_t map, int64_t out_channels, int64_t tile) {
  ConvCase c = conv_case(in_channels, map, out_channels, 3, 1, 1);
  c.winograd = tile;
  return c;
}

class Winograd : public testing::TestWithParam<std::tuple<const char*, int64_t>> {
 protected:
  const char* target() const { return std::get<0>(GetParam()); }
  int64_t tile() const { return std::get<1>(GetParam()); }
};

TEST_P(Winograd, MapsThatTilesCoverAndThatTheyOverhang) {
  for (int64_t map : {1, 2, 3, 4, 5, 7, 8, 14, 15, 28}) check(winograd_case(20, map, 32, tile()), target());
}

TEST_P(Winograd, EveryTailOfChannels) {
  for (int64_t channels : {1, 3, 8, 15, 16, 17, 24, 33, 48}) {
    check(winograd_case(16, 6, channels, tile()), target());
    check(winograd_case(channels, 6, 32, tile()), target());
  }
}

TEST_P(Winograd, PadsOfAnySize) {
  for (int64_t pad : {0, 2, 3}) {
    ConvCase c = winograd_case(24, 11, 40, tile());
    c.pad_top = pad, c.pad_left = 0, c.pad_bottom = 1, c.pad_right = pad;
    check(c, target());
  }
}

TEST_P(Winograd, Epilogues) {
  for (auto epilogue : {ConvEpilogueKind::residual_relu, ConvEpilogueKind::hardswish, ConvEpilogueKind::row_scale}) {
    ConvCase c = winograd_case(16, 9, 24, tile());
    c.epilogue = epilogue;
    c.batch = 3;
    check(c, target());
    c.result_block_offset = 1;
    check(c, target());
  }
}

TEST_P(Winograd, OpenExtents) {
  for (int64_t map : {1, 6, 13}) {
    ConvCase c = winograd_case(18, map, 33, tile());
    c.width = map + 3;
    c.batch = 2;
    c.symbolic_batch = c.symbolic_height = c.symbolic_width = true;
    check(c, target());
  }
}

TEST_P(Winograd, SmallMapsDivideTheirChannels) { check(winograd_case(32, 4, 256, tile()), target()); }

INSTANTIATE_TEST_SUITE_P(All, Winograd,
                         testing::Combine(testing::Values("x86-64-v3", "x86-64-v4"), testing::Values(2, 4)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)).substr(7) + "_tile" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST(WinogradVariant, GivesTheSumOfProducts) {
  for (const int64_t tile : {2, 4}) {
    const WinogradVariant& variant = winograd_variant(tile);
    const std::vector<double> x = {3, -1, 2, 5, -4, 1}, w = {2, -3, 1};
    for (int64_t o = 0; o < tile; ++o) {
      double expected = 0, sum = 0;
      for (size_t k = 0; k < 3; ++k) expected += w[k] * x[static_cast<size_t>(o) + k];
      for (size_t p = 0; p < static_cast<size_t>(variant.side()); ++p) {
        double in = 0, weight = 0;
        for (size_t i = 0; i < static_cast<size_t>(variant.side()); ++i) in += variant.input[p][i] * x[i];
        for (size_t i = 0; i < 3; ++i) weight += variant.weights[p][i] * w[i];
        sum += variant.output[static_cast<size_t>(o)][p] * in * weight;
      }
      EXPECT_NEAR(sum, expected, 1e-12);
    }
  }
}

TEST(WinogradVariant, IsTakenWhereItIsFaster) {
  EXPECT_EQ(best_winograd_tile(64, 64, 56, 56), 4);
  EXPECT_EQ(best_winograd_tile(256, 256, 14, 14), 2);  // the weights for tiles of four would be too large
  EXPECT_EQ(best_winograd_tile(512, 512, 7, 7), 0);
  EXPECT_EQ(best_winograd_tile(64, 64, Dim::symbol("h"), Dim::symbol("w")), 4);
  // The sides are an eighth of an open image's sides, so the compiler assumes 28 x 28.
  EXPECT_EQ(best_winograd_tile(64, 64, ceil_div(Dim::symbol("h"), 8), ceil_div(Dim::symbol("w"), 8)),
            best_winograd_tile(64, 64, 28, 28));
  EXPECT_GT(best_winograd_tile(64, 64, 28, 28), 0);
}

}  // namespace
}  // namespace gcg::cpu
