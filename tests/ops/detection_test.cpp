// Operators that detectors need: RoiAlign, MaxRoiPool, MaxUnpool, DeformConv, NonMaxSuppression.
#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;

const OpInput kImage = data(pattern(DType::f32, {2, 3, 6, 5}));
/// Regions: inside, across the border, small, outside, of another batch.
const OpInput kRegions =
                  data(f32({5, 4}, {0.5, 1, 3.5, 4.25, -2, -1.5, 2, 7, 1, 1, 1.1, 1.05, 9, 9, 12, 11, 0, 0, 4, 5})),
              kBatches = data(i64({5}, {0, 1, 1, 0, 1}));

TEST(RoiAlign, EveryModeScaleAndGrid) {
  for (const char* mode : {"avg", "max"})
    for (const char* how : {"half_pixel", "output_half_pixel"})
      for (const int64_t samples : {0, 1, 2})
        check_op({concat(mode, ", ", how, ", ", samples, " samples"),
                  "RoiAlign",
                  {kImage, kRegions, kBatches},
                  {{"mode", std::string(mode)},
                   {"coordinate_transformation_mode", std::string(how)},
                   {"output_height", int64_t{2}},
                   {"output_width", int64_t{3}},
                   {"sampling_ratio", samples},
                   {"spatial_scale", 0.75}},
                  {},
                  1,
                  true,
                  1e-5});
  EXPECT_NE(refusal({"mode", "RoiAlign", {kImage, kRegions, kBatches}, {{"mode", std::string("min")}}}).find("'min'"),
            std::string::npos);
  EXPECT_NE(refusal({"columns", "RoiAlign", {kImage, data(f32({5, 5}, {0})), kBatches}}).find("columns of rois"),
            std::string::npos);
}

TEST(RoiAlign, GivesTheLiteral) {  // computed by onnxruntime 1.32
  const OpInput x = data(f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})), batch = data(i64({1}, {0}));
  check_op({"one cell",
            "RoiAlign",
            {x, data(f32({1, 4}, {0, 0, 2, 2})), batch},
            {{"sampling_ratio", int64_t{2}}},
            {f32({1, 1, 1, 1}, {3})}});
}

TEST(MaxRoiPool, TakesTheLargestOfEveryCell) {
  check_op({"regions",
            "MaxRoiPool",
            {kImage, data(f32({4, 5}, {0, 0, 0, 4, 5, 1, 1, 1, 3, 2, 1, -3, -3, -1, -1, 0, 2, 3, 2, 3}))},
            {{"pooled_shape", Ints{2, 2}}}});
  check_op({"scaled",
            "MaxRoiPool",
            {kImage, data(f32({1, 5}, {1, 1, 2, 9, 10}))},
            {{"pooled_shape", Ints{3, 1}}, {"spatial_scale", 0.5}}});
  check_op({"literal",
            "MaxRoiPool",
            {data(f32({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})), data(f32({1, 5}, {0, 0, 0, 3, 1}))},
            {{"pooled_shape", Ints{1, 2}}},
            {f32({1, 1, 1, 2}, {6, 8})}});
  EXPECT_NE(refusal({"shape", "MaxRoiPool", {kImage, data(f32({1, 5}, {0}))}}).find("pooled_shape"), std::string::npos);
}

TEST(MaxUnpool, PutsElementsBack) {
  const OpInput x = data(f32({1, 1, 2, 2}, {1, 2, 3, 4})), at = data(i64({1, 1, 2, 2}, {5, 7, 13, 15}));
  const std::map<std::string, Attribute> halves = {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  check_op(
      {"halves", "MaxUnpool", {x, at}, halves, {f32({1, 1, 4, 4}, {0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4})}});
  check_op({"larger",
            "MaxUnpool",
            {x, at, known_ints({1, 1, 5, 5})},
            halves,
            {f32({1, 1, 5, 5}, {0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0})}});
  EXPECT_NE(refusal({"smaller", "MaxUnpool", {x, at, known_ints({1, 1, 3, 4})}, halves}).find("the least is 4"),
            std::string::npos);
  EXPECT_NE(refusal({"index", "MaxUnpool", {x, data(i64({1, 1, 2, 2}, {5, 7, 13, 16}))}, halves}).find("index 16"),
            std::string::npos);
}

TEST(DeformConv, ReadsWhereOffsetsSay) {
  const OpInput x = data(f32({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8})), w = known(f32({1, 1, 2, 2}, {1}));
  Tensor offset = f32({1, 8, 2, 2}, {0});
  offset.set_double(0, 0.5);  // moves tap (0, 0) of output (0, 0) down by half a row
  const std::map<std::string, Attribute> kernel = {{"kernel_shape", Ints{2, 2}}};
  check_op({"literal", "DeformConv", {x, w, data(offset)}, kernel, {f32({1, 1, 2, 2}, {9.5, 12, 20, 24})}});
  check_op({"mask and bias",
            "DeformConv",
            {x, w, data(f32({1, 8, 2, 2}, {0})), data(f32({1}, {1})), data(f32({1, 4, 2, 2}, {0.5}))},
            kernel,
            {f32({1, 1, 2, 2}, {5, 7, 11, 13})}});
  EXPECT_NE(refusal({"groups", "DeformConv", {x, w, data(f32({1, 8, 2, 2}, {0}))}, {{"offset_group", int64_t{2}}}})
                .find("offset groups"),
            std::string::npos);
}

TEST(DeformColumns, ReadsChannelsSideBySide) {
  const OpInput x = data(pattern(DType::f32, {2, 4, 4, 4}));
  for (const int64_t groups : {1, 2})
    for (const bool masked : {false, true}) {
      std::vector<OpInput> inputs = {x, data(pattern(DType::f32, {2, groups * 4 * 2, 4, 2}, 3))};
      if (masked) inputs.push_back(data(pattern(DType::f32, {2, groups * 4, 4, 2}, 5)));
      check_op({concat(groups, " groups, ", masked ? "" : "not ", "masked"),
                "DeformColumns",
                inputs,
                {{"kernel_shape", Ints{2, 2}},
                 {"pads", Ints{1, 0, 1, 0}},
                 {"strides", Ints{1, 2}},
                 {"dilations", Ints{2, 1}},
                 {"offset_group", groups}},
                {},
                1,
                true,
                1e-5,
                "gart"});
    }
  check_op({"a line",
            "DeformColumns",
            {data(pattern(DType::f32, {1, 5, 2})), data(pattern(DType::f32, {1, 3, 3}, 7))},
            {{"kernel_shape", Ints{3}}},
            {},
            1,
            true,
            1e-5,
            "gart"});
}

TEST(NonMaxSuppression, KeepsTheBestOfWhatOverlaps) {
  const OpInput boxes = data(f32({1, 6, 4}, {0, 0,  1, 1,  0, .1,   1, 1.1,  0, -.1, 1, .9,
                                             0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100, 1, 101})),
                scores = data(f32({1, 1, 6}, {.9, .75, .6, .95, .5, .3})), half = data(f32({1}, {.5})),
                most = data(i64({1}, {3}));
  check_op({"overlap",
            "NonMaxSuppression",
            {boxes, scores, most, half},
            {},
            {i64({3, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 5})},
            1,
            false});
  check_op({"a limit",
            "NonMaxSuppression",
            {boxes, scores, data(i64({}, {1})), half},
            {},
            {i64({1, 3}, {0, 0, 3})},
            1,
            false});
  check_op({"a score",
            "NonMaxSuppression",
            {boxes, scores, most, half, data(f32({1}, {.4}))},
            {},
            {i64({2, 3}, {0, 0, 3, 0, 0, 0})},
            1,
            false});
  check_op({"none asked for", "NonMaxSuppression", {boxes, scores}, {}, {i64({0, 3}, {})}, 1, false});
  EXPECT_NE(
      refusal({"coordinates", "NonMaxSuppression", {data(f32({1, 6, 5}, {0})), scores}}).find("coordinates of a box"),
      std::string::npos);
}

}  // namespace
}  // namespace gcg::test
