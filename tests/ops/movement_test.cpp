#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
constexpr DType kAll[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,
                          DType::i32, DType::i64, DType::u8,  DType::u64,  DType::boolean};
using Attributes = std::map<std::string, Attribute>;
using Ints = std::vector<int64_t>;

Tensor x(Ints shape) { return pattern(DType::f32, std::move(shape)); }

TEST(Movement, Transpose) {
  check_op({"reverses", "Transpose", {data(x({2, 3, 4}))}});
  check_op({"perm", "Transpose", {data(x({2, 3, 4, 5}))}, {{"perm", Ints{0, 2, 1, 3}}}});
  check_op({"literal", "Transpose", {data(f32({2, 3}, {1, 2, 3, 4, 5, 6}))}, {}, {f32({3, 2}, {1, 4, 2, 5, 3, 6})}});
  check_op({"scalar", "Transpose", {data(x({}))}});
  check_op({"empty", "Transpose", {data(x({2, 0, 3}))}, {{"perm", Ints{2, 0, 1}}}});
  check_op({"a vector's contents", "Transpose", {known_ints({1, 2})}, {}, {i64({2}, {1, 2})}});
  for (DType t : kAll) check_op({std::string(name_of(t)), "Transpose", {data(pattern(t, {3, 5}))}});
  EXPECT_NE(
      refusal({"no permutation", "Transpose", {data(x({2, 3}))}, {{"perm", Ints{0, 0}}}}).find("not a permutation"),
      std::string::npos);
}

struct SliceRow {
  const char* what;
  Ints shape, starts, ends, axes, steps, result;
};

TEST(Movement, Slice) {
  const SliceRow rows[] = {
      {"plain", {5, 6}, {1, 2}, {3, 6}, {}, {}, {2, 4}},
      {"negative bounds", {5, 6}, {-3}, {-1}, {0}, {}, {2, 6}},
      {"negative axis", {5, 6}, {1}, {4}, {-1}, {}, {5, 3}},
      {"clamped", {5, 6}, {-99, 2}, {99, 99}, {0, 1}, {}, {5, 4}},
      {"to the end", {5, 6}, {1}, {kMost}, {1}, {}, {5, 5}},
      {"empty", {5, 6}, {3}, {3}, {0}, {}, {0, 6}},
      {"crossed is empty", {5, 6}, {4}, {2}, {0}, {}, {0, 6}},
      {"start past the end", {5, 6}, {7}, {9}, {0}, {}, {0, 6}},
      {"steps", {5, 6}, {0, 1}, {5, 6}, {0, 1}, {2, 3}, {3, 2}},
      {"backwards", {5, 6}, {4}, {0}, {0}, {-1}, {4, 6}},
      {"all backwards", {5, 6}, {-1}, {kLeast}, {1}, {-1}, {5, 6}},
      {"backwards by two", {5, 6}, {99}, {-99}, {1}, {-2}, {5, 3}},
      {"backwards from the front", {5, 6}, {0}, {kLeast}, {0}, {-1}, {1, 6}},
      {"huge step", {5, 6}, {1}, {kMost}, {0}, {kMost}, {1, 6}},
      {"of nothing", {0, 6}, {0}, {kMost}, {0}, {}, {0, 6}},
      {"of nothing backwards", {0, 6}, {-1}, {kLeast}, {0}, {-1}, {0, 6}},
      {"last", {5, 6}, {-1}, {kMost}, {0}, {}, {1, 6}},
  };
  for (const SliceRow& r : rows)
    for (bool constant : {true, false}) {
      const OpInput axes = r.axes.empty() ? omitted() : OpInput{Tensor::vector_i64(r.axes), constant};
      const OpInput steps = r.steps.empty() ? omitted() : OpInput{Tensor::vector_i64(r.steps), constant};
      const OpInput starts{Tensor::vector_i64(r.starts), constant}, ends{Tensor::vector_i64(r.ends), constant};
      const auto got = check_op({concat(r.what, constant ? "" : ", at run time"),
                                 "Slice",
                                 {data(x(r.shape)), starts, ends, axes, steps},
                                 {},
                                 {},
                                 1,
                                 constant});
      ASSERT_EQ(got.size(), 1u);
      EXPECT_EQ(got[0].shape(), r.result) << r.what;
    }
  for (DType t : kAll)
    check_op({std::string(name_of(t)),
              "Slice",
              {data(pattern(t, {7})), known_ints({5}), known_ints({0}), known_ints({0}), known_ints({-2})}});
  check_op({"literal",
            "Slice",
            {data(f32({4}, {1, 2, 3, 4})), known_ints({-1}), known_ints({0}), known_ints({0}), known_ints({-2})},
            {},
            {f32({2}, {4, 2})}});
  check_op(
      {"contents", "Slice", {known_ints({7, 8, 9}), known_ints({1}), known_ints({kMost})}, {}, {i64({2}, {8, 9})}});
  check_op({"contents backwards",
            "Slice",
            {known_ints({7, 8, 9}), known_ints({-1}), known_ints({kLeast}), known_ints({0}), known_ints({-1})},
            {},
            {i64({3}, {9, 8, 7})}});
  check_op({"i32 bounds",
            "Slice",
            {data(x({5})), known(tensor(DType::i32, {1}, {1})), known(tensor(DType::i32, {1}, {3}))}});
  for (const bool constant : {true, false}) {
    const auto scalar = [&](int64_t v) { return OpInput{Tensor::scalar_i64(v), constant}; };
    check_op({concat("scalars for vectors of one", constant ? "" : ", at run time"),
              "Slice",
              {data(x({5, 3})), scalar(1), known_ints({4}), known_ints({0}), scalar(2)},
              {},
              {},
              1,
              constant});
  }
  EXPECT_NE(
      refusal({"step 0", "Slice", {data(x({5})), known_ints({0}), known_ints({1}), known_ints({0}), known_ints({0})}})
          .find("step is 0"),
      std::string::npos);
  EXPECT_NE(refusal({"axis", "Slice", {data(x({5})), known_ints({0}), known_ints({1}), known_ints({1})}})
                .find("out of range"),
            std::string::npos);
}

TEST(Movement, Concat) {
  for (int64_t axis : {0, 1, -1, -3}) {
    const auto a = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    Ints first{2, 3, 4}, second = first, none = first;
    second[a] = 5;
    none[a] = 0;
    check_op(
        {concat("axis ", axis), "Concat", {data(x(first)), data(pattern(DType::f32, second, 2))}, {{"axis", axis}}});
    check_op({concat("axis ", axis, " with an empty one"),
              "Concat",
              {data(x(none)), data(x(first)), data(x(none)), data(pattern(DType::f32, second, 2)), data(x(none))},
              {{"axis", axis}}});
    check_op({concat("axis ", axis, " of nothing"), "Concat", {data(x(none)), data(x(none))}, {{"axis", axis}}});
  }
  check_op({"one input", "Concat", {data(x({2, 3}))}, {{"axis", int64_t{0}}}, {x({2, 3})}});
  check_op({"the axis elsewhere is empty",
            "Concat",
            {data(x({2, 0})), data(x({3, 0}))},
            {{"axis", int64_t{0}}},
            {x({5, 0})}});
  check_op(
      {"contents", "Concat", {known_ints({1}), known_ints({2, 3})}, {{"axis", int64_t{0}}}, {i64({3}, {1, 2, 3})}});
  for (DType t : kAll)
    check_op({std::string(name_of(t)),
              "Concat",
              {data(pattern(t, {3})), data(pattern(t, {4}, 3)), data(pattern(t, {1}, 5))},
              {{"axis", int64_t{0}}}});
  EXPECT_NE(refusal({"ranks", "Concat", {data(x({2})), data(x({2, 1}))}, {{"axis", int64_t{0}}}}).find("has rank 2"),
            std::string::npos);
  EXPECT_NE(
      refusal({"extents", "Concat", {data(x({2, 2})), data(x({2, 3}))}, {{"axis", int64_t{0}}}}).find("dimension 1"),
      std::string::npos);
}

TEST(Movement, Split) {
  check_op({"equal", "Split", {data(x({6, 2}))}, {}, {}, 3});
  check_op({"axis", "Split", {data(x({2, 6}))}, {{"axis", int64_t{-1}}}, {}, 2});
  check_op({"sizes", "Split", {data(x({2, 6})), known_ints({1, 0, 5})}, {{"axis", int64_t{1}}}, {}, 3, false});
  check_op({"sizes at run time",
            "Split",
            {data(x({2, 6})), data(Tensor::vector_i64({1, 2, 3}))},
            {{"axis", int64_t{1}}},
            {},
            3,
            false});
  check_op({"a smaller last part", "Split", {data(x({7}))}, {{"num_outputs", int64_t{3}}}, {}, 3});
  check_op({"one part", "Split", {data(x({4}))}, {{"num_outputs", int64_t{1}}}, {x({4})}});
  check_op(
      {"contents", "Split", {known_ints({1, 2, 3}), known_ints({1, 2})}, {}, {i64({1}, {1}), i64({2}, {2, 3})}, 2});
  for (DType t : kAll)
    check_op({std::string(name_of(t)), "Split", {data(pattern(t, {2, 4}))}, {{"axis", int64_t{1}}}, {}, 2});
  EXPECT_NE(refusal({"uneven", "Split", {data(x({5}))}, {}, {}, 2}).find("2 equal parts"), std::string::npos);
  EXPECT_NE(refusal({"sum", "Split", {data(x({5})), known_ints({2, 2})}, {}, {}, 2}).find("sum of the split sizes"),
            std::string::npos);
}

TEST(Movement, Pad) {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"})
    for (const Ints& pads : {Ints{0, 1, 2, 3}, Ints{2, 0, 0, 1}, Ints{-1, 2, 1, -3}, Ints{-1, -1, -1, -1},
                             Ints{0, 0, 0, 0}, Ints{5, 7, 6, 9}})
      for (bool constant : {true, false})
        check_op({concat(mode, " ", str(to_shape(pads)), constant ? "" : " at run time"),
                  "Pad",
                  {data(x({3, 4})), {Tensor::vector_i64(pads), constant}},
                  {{"mode", mode}},
                  {},
                  1,
                  constant});
  check_op({"value",
            "Pad",
            {data(x({2})), known_ints({1, 2}), known(f32({}, {7}))},
            {},
            {f32({5}, {7, x({2}).at_double(0), x({2}).at_double(1), 7, 7})}});
  check_op({"value at run time", "Pad", {data(x({2})), known_ints({1, 2}), data(f32({}, {-HUGE_VAL}))}});
  check_op({"axes", "Pad", {data(x({2, 3, 4})), known_ints({1, 2, 3, 0}), omitted(), known_ints({2, -3})}});
  for (const char* mode : {"constant", "edge"})
    check_op({"axes at run time",
              "Pad",
              {data(x({2, 3, 4})), data(i64({4}, {1, 2, 3, -1})), omitted(), data(i64({2}, {2, -3}))},
              {{"mode", std::string(mode)}},
              {},
              1,
              false});
  check_op(
      {"of nothing", "Pad", {data(x({0, 2})), known_ints({1, 0, 2, 1}), known(f32({}, {5}))}, {}, {f32({3, 3}, {5})}});
  check_op({"one element mirrors itself", "Pad", {data(x({1})), known_ints({2, 3})}, {{"mode", "reflect"}}});
  for (DType t : kAll)
    check_op({std::string(name_of(t)), "Pad", {data(pattern(t, {3})), known_ints({1, 1}), known(tensor(t, {}, {1}))}});
  EXPECT_NE(refusal({"mode", "Pad", {data(x({2})), known_ints({0, 0})}, {{"mode", "mirror"}}}).find("'mirror'"),
            std::string::npos);
  EXPECT_NE(refusal({"count", "Pad", {data(x({2, 2})), known_ints({0, 0})}}).find("2 pads for 2 dimensions"),
            std::string::npos);
  EXPECT_NE(refusal({"too much cropped", "Pad", {data(x({2})), known_ints({-2, -1})}}).find("extent -1"),
            std::string::npos);
}

TEST(Movement, Tile) {
  check_op({"both", "Tile", {data(x({2, 3})), known_ints({2, 3})}});
  check_op({"one", "Tile", {data(x({2, 3})), known_ints({1, 2})}});
  check_op({"none", "Tile", {data(x({2, 3})), known_ints({0, 2})}});
  check_op({"at run time", "Tile", {data(x({2, 3})), data(Tensor::vector_i64({2, 3}))}, {}, {}, 1, false});
  check_op({"scalar", "Tile", {data(x({})), known_ints({})}});
  check_op({"contents", "Tile", {known_ints({1, 2}), known_ints({2})}, {}, {i64({4}, {1, 2, 1, 2})}});
  for (DType t : kAll) check_op({std::string(name_of(t)), "Tile", {data(pattern(t, {3})), known_ints({3})}});
}

TEST(Movement, DepthAndSpace) {
  for (int64_t b : {1, 2, 3}) {
    for (const char* mode : {"DCR", "CRD"})
      check_op({concat(mode, " by ", b),
                "DepthToSpace",
                {data(x({2, 2 * b * b, 3, 2}))},
                {{"blocksize", b}, {"mode", mode}}});
    check_op({concat("by ", b), "SpaceToDepth", {data(x({2, 3, 2 * b, 4 * b}))}, {{"blocksize", b}}});
  }
  check_op({"literal",
            "DepthToSpace",
            {data(f32({1, 4, 1, 1}, {1, 2, 3, 4}))},
            {{"blocksize", int64_t{2}}},
            {f32({1, 1, 2, 2}, {1, 2, 3, 4})}});
  EXPECT_NE(refusal({"channels", "DepthToSpace", {data(x({1, 3, 1, 1}))}, {{"blocksize", int64_t{2}}}})
                .find("channels in parts of 4"),
            std::string::npos);
}

TEST(Movement, ReverseSequence) {
  const Tensor lengths = i64({3}, {1, 4, 2});
  check_op({"time first", "ReverseSequence", {data(x({4, 3, 2})), data(lengths)}});
  check_op({"batch first",
            "ReverseSequence",
            {data(x({3, 4})), data(lengths)},
            {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}}});
  check_op({"literal",
            "ReverseSequence",
            {data(f32({1, 4}, {1, 2, 3, 4})), data(i64({1}, {3}))},
            {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}},
            {f32({1, 4}, {3, 2, 1, 4})}});
}

TEST(Movement, Trilu) {
  for (int64_t upper : {0, 1})
    for (int64_t k : {-4, -1, 0, 1, 5})
      for (bool constant : {true, false})
        check_op({concat("upper ", upper, " k ", k),
                  "Trilu",
                  {data(x({2, 3, 4})), {Tensor::scalar_i64(k), constant}},
                  {{"upper", upper}}});
  check_op({"default", "Trilu", {data(i64({2, 2}, {1, 2, 3, 4}))}, {}, {i64({2, 2}, {1, 2, 0, 4})}});
  check_op({"bool", "Trilu", {data(bools({3, 3}, {1}))}, {{"upper", int64_t{0}}}});
}

}  // namespace
}  // namespace gcg::test
