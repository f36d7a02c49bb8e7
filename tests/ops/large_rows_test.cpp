// Rows that are long enough for the backends' methods for long rows: several blocks, tiles, radix sorts.
#include "tests/ops/large_rows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gcg::test {
namespace {

using Attributes = std::map<std::string, Attribute>;

/// Values in random order, with few repetitions.
Tensor scattered_values(DType dtype, std::vector<int64_t> shape, int64_t range = 100003) {
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i) {
    const int64_t v = (i * 7919 + i / 13 * 104729) % range - range / 3;
    if (is_float(dtype))
      t.set_double(i, static_cast<double>(v) / 64);
    else
      t.set_int(i, v % 120);
  }
  return t;
}

OpCase top_k(std::string what, Tensor x, int64_t k, Attributes attributes = {}) {
  return {std::move(what), "TopK", {data(std::move(x)), known_ints({k})}, std::move(attributes), {}, 2};
}

TEST(LargeRows, TopKOfLongLines) {
  check_large(top_k("few of many", scattered_values(DType::f32, {2, 700}), 50));
  check_large(
      top_k("smallest, with equals", scattered_values(DType::f32, {3, 900}, 77), 100, {{"largest", int64_t{0}}}));
  check_large(top_k("across memory", scattered_values(DType::f32, {700, 3}), 20, {{"axis", int64_t{0}}}));
  check_large(top_k("of tiles", scattered_values(DType::f32, {2, 20000}, 5003), 7));
}

TEST(LargeRows, TopKOfMostOfALine) {
  check_large(top_k("sorted by digits", scattered_values(DType::f32, {2, 5000}), 2500));
  check_large(top_k("all", scattered_values(DType::i32, {1, 3000}), 3000));
  check_large(top_k("64 bits", scattered_values(DType::i64, {2, 3000}), 40));
  Tensor x = scattered_values(DType::f32, {400});
  for (const int64_t i : {3, 200, 399}) x.set_double(i, std::nan(""));
  check_large(top_k("NaN is the largest", x, 5));
  check_large(top_k("NaN is no small one", x, 398, {{"largest", int64_t{0}}}));
}

OpCase cumulative(std::string what, Tensor x, int64_t axis, Attributes attributes = {}, const char* op = "CumSum") {
  OpCase row{std::move(what), op, {data(std::move(x)), known_ints({axis})}, std::move(attributes)};
  row.tolerance = 1e-4;
  return row;
}

TEST(LargeRows, CumSum) {
  const Attributes turned = {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}};
  check_large(cumulative("a block", scattered_values(DType::f32, {3, 5000}, 97), 1));
  check_large(cumulative("tiles", scattered_values(DType::i64, {2, 20000}), 1));
  check_large(cumulative("tiles, turned", scattered_values(DType::f32, {20001}, 97), 0, turned));
  check_large(cumulative("lines across memory", scattered_values(DType::i32, {2, 100, 5}), 1, turned));
  check_large(cumulative("tiles of lines", scattered_values(DType::i32, {2, 1000, 5}), 1));
  check_large(cumulative("products", tensor(DType::i32, {3000}, {-1}), 0, {}, "CumProd"));
}

TEST(LargeRows, Selection) {
  check_large({"many", "NonZero", {data(scattered_values(DType::i32, {30, 400}, 5))}});
  OpCase compress{"slices",
                  "Compress",
                  {data(scattered_values(DType::f32, {500, 3})), data(pattern(DType::boolean, {500}))},
                  {{"axis", int64_t{0}}}};
  check_large(compress);
  check_large({"elements", "Unique", {data(scattered_values(DType::i32, {300}, 70))}, {}, {}, 4});
  check_large({"rows", "Unique", {data(scattered_values(DType::f32, {90, 2}, 5))}, {{"axis", int64_t{0}}}, {}, 4});
}

Tensor indices(std::vector<int64_t> shape, int64_t extent) {
  Tensor t(DType::i64, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i) t.set_int(i, (i * 37 + i / 11) % extent - (i % 3 == 0 ? extent : 0));
  return t;
}

OpCase scatter_elements(DType dtype, const std::string& reduction) {
  OpCase row{reduction,
             "ScatterElements",
             {data(scattered_values(dtype, {6, 50, 4})), data(indices({6, 40, 3}, 50)),
              data(scattered_values(dtype, {6, 40, 3}, 911))},
             {{"axis", int64_t{1}}, {"reduction", reduction}}};
  row.tolerance = 1e-4;
  return row;
}

TEST(LargeRows, ScatterElements) {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    check_large(scatter_elements(DType::f32, reduction));
    check_large(scatter_elements(DType::i32, reduction));
  }
  for (const char* reduction : {"add", "max"}) {
    check_large(scatter_elements(DType::i64, reduction));
    check_large(scatter_elements(DType::u8, reduction));
  }
  OpCase nan = scatter_elements(DType::f32, "min");
  nan.inputs[2].tensor.set_double(5, std::nan(""));
  check_large(nan);
}

TEST(LargeRows, ScatterND) {
  for (const char* reduction : {"none", "add", "max"}) {
    OpCase row{reduction,
               "ScatterND",
               {data(scattered_values(DType::f32, {7, 9, 5})), data(indices({60, 2}, 7)),
                data(scattered_values(DType::f32, {60, 5}, 911))},
               {{"reduction", std::string(reduction)}}};
    row.tolerance = 1e-4;
    row.symbolic = false;  // the last extent of the indices is known
    check_large(row);
  }
}

TEST(LargeRows, Reductions) {
  OpCase sum{"of all", "ReduceSum", {data(scattered_values(DType::f32, {100, 500}, 97))}, {{"keepdims", int64_t{0}}}};
  sum.tolerance = 1e-4;
  check_large(sum);
  check_large(
      {"the first of equals", "ArgMax", {data(scattered_values(DType::f32, {2, 20001}, 501))}, {{"axis", int64_t{1}}}});
  check_large({"the last of equals",
               "ArgMin",
               {data(scattered_values(DType::f32, {2, 20001}, 501))},
               {{"axis", int64_t{1}}, {"select_last_index", int64_t{1}}}});
  check_large({"one long row", "Softmax", {data(scattered_values(DType::f32, {1, 20001}, 501))}});
  check_large(
      {"one long row", "LogSoftmax", {data(scattered_values(DType::f16, {1, 20001}, 501))}, {}, {}, 1, true, 4e-3});
  check_large({"few long columns", "ReduceMax", {data(scattered_values(DType::f32, {2, 3000, 8})), known_ints({1})}});
}

}  // namespace
}  // namespace gcg::test
