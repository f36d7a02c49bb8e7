// GridSample and AffineGrid; CenterCropPad, Col2Im and TensorScatter.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

TEST(GridSample, EveryModePaddingAndAlignment) {
  const OpInput x = data(pattern(DType::f32, {2, 2, 3, 4})),
                grid = data(
                    f32({2, 1, 4, 2}, {-1, -1, 1, 1, 0, 0.3, -0.7, 0.4, 1.4, -1.6, 0.9, 2.5, -3.2, 0.1, 0.5, -0.5}));
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const int64_t align : {0, 1})
        check_op({concat(mode, ", ", padding, align ? ", aligned" : ""),
                  "GridSample",
                  {x, grid},
                  {{"mode", std::string(mode)}, {"padding_mode", std::string(padding)}, {"align_corners", align}},
                  {},
                  1,
                  true,
                  2e-5});
  check_op({"volume",
            "GridSample",
            {data(pattern(DType::f32, {1, 1, 2, 3, 2})), data(f32({1, 1, 1, 2, 3}, {0.1, -0.2, 0.3, -0.9, 0.8, 0.5}))},
            {},
            {},
            1,
            true,
            2e-5});
  EXPECT_NE(refusal({"mode", "GridSample", {x, grid}, {{"mode", std::string("area")}}}).find("'area'"),
            std::string::npos);
  EXPECT_NE(refusal({"no element", "GridSample", {data(Tensor(DType::f32, {2, 2, 0, 4})), grid}})
                .find("spatial axis 0 of X must have an element"),
            std::string::npos);
}

TEST(GridSample, GivesTheLiteral) {
  const OpInput x = data(f32({1, 1, 2, 2}, {1, 2, 3, 4}));
  check_op({"corners and centre",
            "GridSample",
            {x, data(f32({1, 1, 3, 2}, {-1, -1, 0, 0, 1, -1}))},
            {{"align_corners", int64_t{1}}},
            {f32({1, 1, 1, 3}, {1, 2.5, 2})}});
  const double nan = std::nan("");
  for (const char* mode : {"linear", "nearest", "cubic"})
    check_op({concat("not a number is outside, ", mode),
              "GridSample",
              {x, data(f32({1, 1, 2, 2}, {nan, 0, 0.5, nan}))},
              {{"mode", std::string(mode)}},
              {f32({1, 1, 1, 2}, {0})}});
  check_op({"cubic beyond the border, as PyTorch has it",
            "GridSample",
            {data(f32({1, 1, 1, 4}, {1, 2, 4, 8})), data(f32({1, 1, 3, 2}, {1.25, 0, -1.5, 0, 3, 0}))},
            {{"mode", std::string("cubic")}, {"padding_mode", std::string("border")}, {"align_corners", int64_t{1}}},
            {f32({1, 1, 1, 3}, {8.439453125, 0.96484375, 8})}});
}

TEST(AffineGrid, CoversTheImage) {
  const OpInput identity = data(f32({1, 2, 3}, {1, 0, 0, 0, 1, 0}));
  for (const bool constant : {true, false}) {
    const OpInput size{Tensor::vector_i64({1, 1, 2, 2}), constant};
    check_op({"corners",
              "AffineGrid",
              {identity, size},
              {{"align_corners", int64_t{1}}},
              {f32({1, 2, 2, 2}, {-1, -1, 1, -1, -1, 1, 1, 1})},
              1,
              constant});
    check_op({"centres",
              "AffineGrid",
              {identity, size},
              {},
              {f32({1, 2, 2, 2}, {-.5, -.5, .5, -.5, -.5, .5, .5, .5})},
              1,
              constant});
  }
  check_op({"volume",
            "AffineGrid",
            {data(pattern(DType::f32, {2, 3, 4})), known_ints({2, 1, 2, 3, 1})},
            {{"align_corners", int64_t{1}}}});
}

TEST(CenterCropPad, CropsAndPads) {
  for (const bool constant : {true, false}) {
    const auto shape = [&](std::vector<int64_t> s) { return OpInput{Tensor::vector_i64(s), constant}; };
    check_op({"crop", "CenterCropPad", {data(f32({5}, {1, 2, 3, 4, 5})), shape({2})}, {}, {f32({2}, {2, 3})}});
    check_op({"pad", "CenterCropPad", {data(f32({2}, {1, 2})), shape({5})}, {}, {f32({5}, {0, 1, 2, 0, 0})}});
    check_op({"both",
              "CenterCropPad",
              {data(pattern(DType::f32, {4, 3, 7})), shape({6, 4})},
              {{"axes", std::vector<int64_t>{-1, 0}}},
              {},
              1,
              constant});
  }
}

TEST(Col2Im, SumsWhatCoversAnElement) {
  check_op({"a line",
            "Col2Im",
            {data(f32({1, 2, 3}, {1, 2, 3, 4, 5, 6})), known_ints({4}), known_ints({2})},
            {},
            {f32({1, 1, 4}, {1, 6, 8, 6})}});
  for (const bool constant : {true, false}) {
    const auto vector = [&](std::vector<int64_t> s) { return OpInput{Tensor::vector_i64(s), constant}; };
    check_op({"strides, dilations and pads",
              "Col2Im",
              {data(pattern(DType::f32, {2, 12, 4})), vector({5, 4}), vector({2, 3})},
              {{"strides", std::vector<int64_t>{2, 2}},
               {"dilations", std::vector<int64_t>{2, 1}},
               {"pads", std::vector<int64_t>{0, 1, 1, 1}}},
              {},
              1,
              constant});
  }
}

TEST(TensorScatter, WritesEachBatchFromItsOwnStart) {
  const OpInput cache = data(pattern(DType::f32, {2, 4, 3})), update = data(pattern(DType::f32, {2, 2, 3}, 5));
  check_op({"from the front", "TensorScatter", {cache, update}});
  check_op({"linear", "TensorScatter", {cache, update, data(i64({2}, {2, 1}))}});
  check_op({"circular", "TensorScatter", {cache, update, data(i64({2}, {3, 1}))}, {{"mode", std::string("circular")}}});
}

}  // namespace
}  // namespace gcg::test
