#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/op_test.h"

// Literals that are not obvious come from onnxruntime 1.31 on the same pattern() tensors.
namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;
using Attributes = std::map<std::string, Attribute>;

Attributes merged(Attributes a, const Attributes& b) {
  a.insert(b.begin(), b.end());
  return a;
}

OpInput floats(const Doubles& v) { return known(f32({static_cast<int64_t>(v.size())}, v)); }

OpCase by_scales(std::string what, Ints x, const Doubles& scales, Attributes attributes,
                 std::vector<Tensor> expected = {}) {
  return {std::move(what),
          "Resize",
          {data(pattern(DType::f32, std::move(x))), omitted(), floats(scales)},
          std::move(attributes),
          std::move(expected)};
}

OpCase by_sizes(std::string what, Ints x, const Ints& sizes, Attributes attributes, std::vector<Tensor> expected = {}) {
  OpCase row = {std::move(what),
                "Resize",
                {data(pattern(DType::f32, std::move(x))), omitted(), omitted(), known_ints(sizes)},
                std::move(attributes),
                std::move(expected)};
  return row;
}

const Attributes kLinear = {{"mode", std::string("linear")}}, kCubic = {{"mode", std::string("cubic")}},
                 kNearest = {{"mode", std::string("nearest")}};

Attributes coordinates(const char* mode) { return {{"coordinate_transformation_mode", std::string(mode)}}; }
Attributes nearest(const char* mode) { return {{"nearest_mode", std::string(mode)}}; }

TEST(Resize, GivesTheLiteral) {
  check_op(by_sizes("align_corners", {1, 1, 3, 4}, {1, 1, 2, 3}, merged(kLinear, coordinates("align_corners")),
                    {f32({1, 1, 2, 3}, {-1.125, -1.875, 2.5, 0, -0.75, -1.5})}));
  check_op(by_sizes("cubic", {1, 1, 3, 4}, {1, 1, 2, 5}, kCubic,
                    {f32({1, 1, 2, 5}, {-0.3163047, -0.6520549, -1.468292, -0.4353864, 2.327617, 0.5933634, 0.2576131,
                                        -0.1701202, -0.6819056, -1.158508})}));
  check_op(by_scales("cubic without what is outside", {1, 1, 3, 4}, {1, 1, 0.8, 0.8},
                     merged(kCubic, {{"exclude_outside", int64_t{1}}, {"cubic_coeff_a", -0.5}}),
                     {f32({1, 1, 2, 3}, {-0.8982992, -1.756155, 0.9748244, 1.435942, 0.8010561, -0.1304079})}));
  check_op(by_scales(
      "the centre stays", {1, 1, 3, 4}, {1, 1, 0.6, 2.3}, merged(kLinear, coordinates("half_pixel_symmetric")),
      {f32({1, 1, 1, 9}, {2.0, 1.902174, 1.684783, 1.467391, 1.25, 1.032609, 0.8152174, 0.597826, 0.5})}));
  check_op(by_scales("a single element is the first", {1, 1, 3, 4}, {1, 1, 0.4, 1.7},
                     merged(kLinear, coordinates("pytorch_half_pixel")),
                     {f32({1, 1, 1, 6}, {-1.125, -1.316176, -1.610294, -1.904412, -1.444853, 1.275735})}));
  OpCase crop = by_sizes("cropped", {1, 1, 3, 4}, {1, 1, 2, 3},
                         merged(merged(kLinear, coordinates("tf_crop_and_resize")), {{"extrapolation_value", 10.0}}),
                         {f32({1, 1, 2, 3}, {0.475, 10, 10, 0.6999999, 10, 10})});
  crop.inputs[1] = floats({0, 0, 0.4, 0.6, 1, 1, 0.6, 1.7});
  check_op(crop);
  crop.inputs[1].constant = false;
  check_op(crop);
}

TEST(Resize, TakesTheElementThatNearestModeSays) {
  const auto row = [](const Doubles& v) { return f32({1, 1, 1, static_cast<int64_t>(v.size())}, v); };
  const struct {
    const char* mode;
    Doubles shrunk, grown;
  } rows[] = {{"round_prefer_floor", {-1.125, -2.125, 2.5, 1.5}, {-1.125, -1.625, -1.625, -2.125, 2.5, 2.5}},
              {"round_prefer_ceil", {-1.125, -2.125, 2.5, 1.5}, {-1.125, -1.625, -1.625, -2.125, 2.5, 2.5}},
              {"floor", {-1.125, -1.625, 2.5, 2.0}, {-1.125, -1.125, -1.625, -2.125, -2.125, 2.5}},
              {"ceil", {-1.625, -2.125, 2.0, 1.5}, {-1.125, -1.625, -2.125, -2.125, 2.5, 2.5}}};
  for (const auto& r : rows) {
    check_op(by_sizes(r.mode, {1, 1, 1, 6}, {1, 1, 1, 4}, merged(kNearest, nearest(r.mode)), {row(r.shrunk)}));
    check_op(by_sizes(r.mode, {1, 1, 1, 4}, {1, 1, 1, 6},
                      merged(merged(kNearest, nearest(r.mode)), coordinates("asymmetric")), {row(r.grown)}));
  }
}

// The product of extent and scale is rounded to f32, as in ONNX's inference and onnxruntime. The product may be just
// below the whole number from which the scale was computed. If the extent is symbolic, this depends on the run.
TEST(Resize, GivesTheExtentOfTheProductInFloats) {
  const struct {
    int64_t in, up, down, out;
  } rows[] = {{7, 31, 7, 30}, {13, 53, 13, 52}, {706, 224, 706, 223}, {10, 7, 10, 7}, {14, 31, 7, 61}, {30, 1, 3, 10}};
  for (const auto& r : rows)
    for (const Attributes& mode : {kNearest, kLinear})
      for (const bool open : {false, true}) {
        SCOPED_TRACE(concat(r.in, " times ", r.up, " / ", r.down));
        const double scale = static_cast<float>(r.up) / static_cast<float>(r.down);
        OpCase row = by_scales("product", {1, 1, 1, r.in}, {1, 1, 1, scale}, mode);
        row.symbolic = open;
        EXPECT_EQ(check_op(row)[0].shape().back(), std::floor(static_cast<float>(r.in) * static_cast<float>(scale)));
        if (r.in != 14) EXPECT_EQ(check_op(row)[0].shape().back(), r.out);
      }
}

// 32 * 26 / 64 is 13; in f32, 32 / (64 / 26) is just below 13, and floor gives 12.
TEST(Resize, TakesTheElementThatFloatsSayIsNearest) {
  for (const bool open : {false, true}) {
    OpCase row = by_sizes("26 to 64", {1, 1, 1, 26}, {1, 1, 1, 64},
                          merged(merged(kNearest, nearest("floor")), coordinates("asymmetric")));
    row.symbolic = open;
    const Tensor y = check_op(row)[0], x = pattern(DType::f32, {1, 1, 1, 26});
    EXPECT_EQ(y.at_double(32), x.at_double(12));
    EXPECT_EQ(y.at_double(33), x.at_double(13));
  }
  for (const char* how : {"half_pixel", "asymmetric", "tf_half_pixel_for_nn", "half_pixel_symmetric"})
    for (const char* mode : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      for (const int64_t out : {15, 26, 49, 64, 81})
        check_op(
            by_sizes(mode, {1, 1, 1, 26}, {1, 1, 1, out}, merged(merged(kNearest, nearest(mode)), coordinates(how))));
}

// Conversion to bytes truncates: a float that was rounded down must not lose a unit.
TEST(Resize, KeepsOneColour) {
  for (const DType type : {DType::u8, DType::i8}) {
    Tensor image(type, {1, 2, 5, 7});
    const int64_t colour = type == DType::u8 ? 255 : -128;
    for (int64_t i = 0; i < image.elements(); ++i) image.set_int(i, colour);
    for (const Doubles& scales : {Doubles{1, 1, 3, 3}, {1, 1, 1.7, 0.6}, {1, 1, 2.3, 5}})
      for (const Attributes& mode : {kLinear, kCubic}) {
        const Tensor y = check_op({"one colour", "Resize", {data(image), omitted(), floats(scales)}, mode, {}})[0];
        for (int64_t i = 0; i < y.elements(); ++i) EXPECT_EQ(y.at_int(i), colour);
      }
  }
}

TEST(Resize, KeepsTheAspectRatio) {
  const Attributes policy = {{"keep_aspect_ratio_policy", std::string("not_larger")}, {"axes", Ints{2, 3}}};
  OpCase row = by_sizes("not_larger", {1, 1, 4, 6}, {5, 5}, merged(kNearest, policy),
                        {f32({1, 1, 3, 5}, {-1.125, -1.625, -2.125, 2.0, 1.5, 1.0, 0.5, 0.0, -1.0, -1.5, -2.0, -2.5,
                                            2.125, 1.125, 0.625})});
  row.symbolic = false;
  // 4 * 5/6 is 3.33, rounded 3.
  check_op(row);
  row = by_sizes("not_smaller", {1, 1, 4, 6}, {5, 5}, kLinear);
  row.attributes.insert({{"keep_aspect_ratio_policy", std::string("not_smaller")}, {"axes", Ints{3, 2}}});
  row.symbolic = false;
  EXPECT_EQ(check_op(row)[0].shape(), (Ints{1, 1, 5, 8}));
  for (const char* kept : {"not_larger", "not_smaller"}) {  // sizes that depend on data
    OpCase open = by_sizes(kept, {1, 1, 4, 6}, {7, 7}, kNearest);
    open.attributes.insert({{"keep_aspect_ratio_policy", std::string(kept)}, {"axes", Ints{2, 3}}});
    open.inputs[3].constant = false;
    check_op(open);
  }
}

TEST(Resize, TakesEveryModeInEveryRatio) {
  for (const char* how : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                          "tf_half_pixel_for_nn"}) {
    for (const Attributes& mode : {kNearest, kLinear, kCubic}) {
      const Attributes attributes = merged(mode, coordinates(how));
      for (const Doubles& scales : {Doubles{1, 1, 2, 3}, {1, 1, 0.5, 1.5}, {1, 1, 0.6, 1}, {1, 1, 0.7, 2.3}})
        check_op(by_scales(how, {1, 2, 5, 4}, scales, attributes));
      for (const Ints& sizes :
           {Ints{1, 2, 10, 12}, {1, 2, 1, 7}, {1, 2, 5, 1}, {1, 2, 0, 3}, {1, 2, 5, 4}, {1, 2, 5, 9}})
        check_op(by_sizes(how, {1, 2, 5, 4}, sizes, attributes));
      check_op(by_sizes("one element", {1, 1, 1, 1}, {1, 1, 3, 2}, attributes));
      check_op(by_scales("every dimension", {2, 3}, {1.5, 2}, attributes));
    }
  }
  for (const char* how : {"half_pixel", "asymmetric", "align_corners"}) {
    for (const char* mode : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      for (int64_t out : {1, 2, 3, 4, 5, 9, 10, 14, 20}) {
        OpCase row = by_sizes(mode, {1, 1, 10}, {1, 1, out}, merged(merged(kNearest, nearest(mode)), coordinates(how)));
        row.symbolic = out % 5 != 0;
        check_op(row);
      }
    }
  }
}

TEST(Resize, TakesWhatDependsOnData) {
  for (const char* how : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                          "tf_half_pixel_for_nn"}) {
    OpCase row = by_sizes(how, {1, 1, 4, 4}, {1, 1, 8, 6}, merged(kLinear, coordinates(how)));
    row.inputs[3].constant = false;
    check_op(row);
    row = by_scales(how, {1, 1, 4, 4}, {1, 1, 2, 1.5}, merged(kLinear, coordinates(how)));
    row.inputs[2].constant = false;
    check_op(row);
  }
}

TEST(Resize, StretchesItsWindowAgainstAliasing) {
  for (const char* mode : {"linear", "cubic"})
    for (const int64_t excludes : {0, 1})
      for (const bool constant : {true, false}) {
        const std::map<std::string, Attribute> attributes = {
            {"mode", std::string(mode)}, {"antialias", int64_t{1}}, {"exclude_outside", excludes}};
        for (const std::vector<double>& scales : {std::vector<double>{1, 0.5}, {0.6, 0.3}, {1.5, 0.75}, {0.2, 1}}) {
          OpCase row = by_scales(concat(mode, " by ", scales[0], ", ", scales[1]), {7, 10}, scales, attributes);
          row.inputs[2].constant = constant;
          row.tolerance = 1e-5;
          check_op(row);
        }
        OpCase row = by_sizes(concat(mode, " to 3, 4"), {7, 10}, {3, 4}, attributes);
        row.inputs[3].constant = constant;
        row.tolerance = 1e-5;
        check_op(row);
      }
}

TEST(Resize, TakesEveryDtype) {
  for (const DType t : {DType::f64, DType::f16, DType::i8, DType::u8, DType::i32, DType::boolean}) {
    OpCase row = by_scales("nearest", {1}, {1, 1, 2, 1.5}, kNearest);
    row.inputs[0] = data(pattern(t, {1, 2, 3, 4}));
    check_op(row);
    if (!is_float(t)) continue;
    row.attributes = kLinear;
    row.tolerance = t == DType::f16 ? 2e-3 : 2e-6;
    check_op(row);
  }
}

TEST(Resize, PassesInfinityAndNan) {
  const double inf = std::numeric_limits<double>::infinity();
  OpCase row = by_scales("inf and nan", {1}, {2}, kNearest, {f32({6}, {inf, inf, -inf, -inf, NAN, NAN})});
  row.inputs[0] = data(f32({3}, {inf, -inf, NAN}));
  check_op(row);
}

TEST(Resize, RefusesWhatDoesNotFit) {
  const auto refused = [](const OpCase& row, const char* why) {
    EXPECT_NE(refusal(row).find(why), std::string::npos) << refusal(row);
  };
  refused(by_scales("", {2, 3}, {2}, kNearest), "it must be [2]");
  refused(by_scales("", {2, 3}, {1, 0}, kNearest), "scale of dimension 1 is 0");
  refused(by_scales("", {2, 3}, {1, 2}, {{"mode", std::string("quartic")}}), "mode is 'quartic'");
  refused(by_scales("", {2, 3}, {1, 2},
                    merged(merged(kLinear, coordinates("tf_crop_and_resize")), {{"antialias", int64_t{1}}})),
          "antialias=1 does not go with");
  refused(by_scales("", {2, 3}, {1, 2}, {{"axes", Ints{0, 2}}}), "axis 2 out of range [-2, 2)");
  refused(by_sizes("", {2, 3}, {2, -1}, kNearest), "size of dimension 1 is -1");
  refused(by_sizes("", {2, 0}, {2, 4}, kNearest), "dimension 1 is empty");
  refused(by_scales("", {2, 3}, {1, 2}, merged(kLinear, coordinates("tf_crop_and_resize"))), "needs roi");
  OpCase both = by_scales("", {2, 3}, {1, 2}, kNearest);
  both.inputs.push_back(known_ints({2, 6}));
  refused(both, "either scales");
}

}  // namespace
}  // namespace gcg::test
