#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

Tensor x(std::vector<int64_t> shape) { return pattern(DType::f32, std::move(shape)); }
std::map<std::string, Attribute> attribute(const char* name, int64_t value) { return {{name, value}}; }

TEST(Shape, Reshape) {
  struct Row {
    std::vector<int64_t> from, target, to;
  };
  const Row rows[] = {{{2, 3, 4}, {6, 4}, {6, 4}},
                      {{2, 3, 4}, {2, 12}, {2, 12}},
                      {{2, 3, 4}, {4, 3, 2}, {4, 3, 2}},
                      {{2, 3, 4}, {-1}, {24}},
                      {{2, 3, 4}, {0, -1}, {2, 12}},
                      {{2, 3, 4}, {0, 0, 2, 2}, {2, 3, 2, 2}},
                      {{2, 3, 4}, {2, -1, 2, 2}, {2, 3, 2, 2}},
                      {{1}, {}, {}},
                      {{}, {1, 1}, {1, 1}},
                      {{2, 1, 3}, {1, 2, 3, 1}, {1, 2, 3, 1}},
                      {{0, 3}, {0, -1}, {0, 3}},
                      {{2, 5, 12}, {2, 5, 3, 4}, {2, 5, 3, 4}},
                      {{2, 5, 3, 4}, {0, 0, -1}, {2, 5, 12}},
                      {{6, 4}, {2, 3, 2, 2}, {2, 3, 2, 2}},
                      {{4, 6, 5}, {2, 12, 5}, {2, 12, 5}}};
  for (const Row& r : rows) {
    const std::string what = concat(str(to_shape(r.from)), " to ", str(to_shape(r.target)));
    check_op({what, "Reshape", {data(x(r.from)), known_ints(r.target)}, {}, {x(r.from).reshaped(r.to)}});
    check_op({what + ", shape not known",
              "Reshape",
              {data(x(r.from)), data(Tensor::vector_i64(r.target))},
              {},
              {x(r.from).reshaped(r.to)},
              1,
              false});
  }
  check_op({"allowzero", "Reshape", {data(x({0, 3})), known_ints({3, 0})}, attribute("allowzero", 1), {x({3, 0})}});
  check_op({"contents of one element", "Reshape", {known(i64({}, {7})), known_ints({-1})}, {}, {i64({1}, {7})}});
  for (DType t : {DType::f64, DType::f16, DType::i32, DType::u8, DType::boolean})
    check_op({std::string(name_of(t)), "Reshape", {data(pattern(t, {2, 6})), known_ints({3, 4})}});
}

TEST(Shape, ReshapeRefuses) {
  const auto says = [](const std::vector<int64_t>& target, const char* words, int64_t allowzero = 0) {
    const std::string got =
        refusal({words, "Reshape", {data(x({2, 3})), known_ints(target)}, attribute("allowzero", allowzero)});
    EXPECT_NE(got.find(words), std::string::npos) << got;
  };
  says({-1, -1}, "more than one -1");
  says({2, 4}, "elements before and after");
  says({4, -1}, "elements before and after");
  says({2, 3, 0}, "only 2 dimensions");
  says({-2, 3}, "least allowed is -1");
  says({0, -1}, "both 0 and -1", 1);
}

TEST(Shape, Flatten) {
  for (int64_t axis = -3; axis <= 3; ++axis)
    check_op({concat("axis ", axis), "Flatten", {data(x({2, 3, 4}))}, attribute("axis", axis)});
  check_op({"default axis", "Flatten", {data(x({2, 3, 4}))}, {}, {x({2, 12})}});
  check_op({"scalar", "Flatten", {data(x({}))}, attribute("axis", 0), {x({1, 1})}});
  check_op({"empty", "Flatten", {data(x({2, 0, 4}))}, attribute("axis", 2), {x({0, 4})}});
  EXPECT_NE(refusal({"axis", "Flatten", {data(x({2}))}, attribute("axis", 2)}).find("out of range"), std::string::npos);
}

TEST(Shape, SqueezeAndUnsqueeze) {
  check_op({"by axes", "Squeeze", {data(x({1, 3, 1, 5})), known_ints({0, -2})}, {}, {x({3, 5})}});
  check_op({"all units", "Squeeze", {data(x({1, 3, 1}))}, {}, {x({3})}, 1, false});
  check_op({"to a scalar", "Squeeze", {known_ints({4}), known_ints({0})}, {}, {i64({}, {4})}});
  check_op({"no axes", "Squeeze", {data(x({1, 3})), known_ints({})}, {}, {x({1, 3})}});
  check_op({"front and back", "Unsqueeze", {data(x({3, 4})), known_ints({0, -1})}, {}, {x({1, 3, 4, 1})}});
  check_op({"unordered axes", "Unsqueeze", {data(x({3, 4})), known_ints({3, 1})}, {}, {x({3, 1, 4, 1})}});
  check_op({"a scalar's contents", "Unsqueeze", {known(i64({}, {9})), known_ints({0})}, {}, {i64({1}, {9})}});
  EXPECT_NE(refusal({"not a unit", "Squeeze", {data(x({2})), known_ints({0})}}).find("removed dimension 0"),
            std::string::npos);
  EXPECT_NE(refusal({"twice", "Unsqueeze", {data(x({2})), known_ints({0, -3})}}).find("named twice"),
            std::string::npos);
  check_op(
      {"axes at run time", "Squeeze", {data(x({1, 3, 1, 5})), data(i64({2}, {-2, 0}))}, {}, {x({3, 5})}, 1, false});
  check_op(
      {"axes at run time", "Unsqueeze", {data(x({3, 4})), data(i64({2}, {3, -3}))}, {}, {x({3, 1, 4, 1})}, 1, false});
}

TEST(Shape, ShapeAndSize) {
  check_op({"all", "Shape", {data(x({2, 3, 4}))}, {}, {i64({3}, {2, 3, 4})}});
  check_op({"scalar", "Shape", {data(x({}))}, {}, {i64({0}, {})}});
  check_op({"from", "Shape", {data(x({2, 3, 4}))}, attribute("start", -2), {i64({2}, {3, 4})}});
  check_op({"to", "Shape", {data(x({2, 3, 4}))}, attribute("end", -1), {i64({2}, {2, 3})}});
  check_op(
      {"clamped", "Shape", {data(x({2, 3, 4}))}, {{"start", int64_t{-9}}, {"end", int64_t{9}}}, {i64({3}, {2, 3, 4})}});
  check_op({"nothing", "Shape", {data(x({2, 3, 4}))}, {{"start", int64_t{2}}, {"end", int64_t{1}}}, {i64({0}, {})}});
  check_op({"elements", "Size", {data(x({2, 3, 4}))}, {}, {i64({}, {24})}});
  check_op({"of nothing", "Size", {data(x({2, 0}))}, {}, {i64({}, {0})}});
}

TEST(Shape, Expand) {
  check_op({"units", "Expand", {data(x({3, 1})), known_ints({2, 1, 4})}});
  check_op({"shape shorter", "Expand", {data(x({2, 3, 1})), known_ints({4})}});
  check_op({"ones keep", "Expand", {data(x({2, 3})), known_ints({1, 1})}, {}, {x({2, 3})}});
  check_op({"scalar", "Expand", {data(x({})), known_ints({2, 2})}});
  check_op({"to nothing", "Expand", {data(x({1, 3})), known_ints({0, 3})}, {}, {x({0, 3})}});
  check_op({"shape not known", "Expand", {data(x({3, 1})), data(Tensor::vector_i64({2, 1, 4}))}, {}, {}, 1, false});
  check_op({"contents", "Expand", {known_ints({5}), known_ints({3})}, {}, {i64({3}, {5, 5, 5})}});
  for (DType t : {DType::f64, DType::bf16, DType::i64, DType::i8, DType::boolean})
    check_op({std::string(name_of(t)), "Expand", {data(pattern(t, {1, 3})), known_ints({2, 3})}});
  EXPECT_NE(refusal({"no fit", "Expand", {data(x({2})), known_ints({3})}}).find("differ"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
