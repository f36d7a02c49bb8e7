// ConvInteger, and the packed form of products of bytes.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;

OpCase internal(std::string what, const char* op, std::vector<OpInput> inputs,
                std::map<std::string, Attribute> attributes = {}) {
  OpCase row = {std::move(what), op, std::move(inputs), std::move(attributes)};
  row.domain = "gart";
  return row;
}

/// Every value of the type, in scattered order.
Tensor bytes(DType dtype, std::vector<int64_t> shape, uint32_t seed) {
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i)
    t.mutable_data()[i] = static_cast<uint8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
  return t;
}

TEST(ConvInteger, GivesTheLiteral) {
  const OpInput x = data(tensor(DType::u8, {1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10})),
                w = data(tensor(DType::u8, {1, 1, 2, 2}, {1, 1, 1, 1}));
  check_op({"the example of the specification",
            "ConvInteger",
            {x, w, data(tensor(DType::u8, {}, {1}))},
            {},
            {tensor(DType::i32, {1, 1, 2, 2}, {12, 16, 24, 28})}});
  check_op({"with padding",
            "ConvInteger",
            {x, w, data(tensor(DType::u8, {}, {1}))},
            {{"pads", Ints{1, 1, 1, 1}}},
            {tensor(DType::i32, {1, 1, 4, 4}, {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9})}});
}

TEST(ConvInteger, TakesZeroPointsGroupsAndRanks) {
  for (const DType t : {DType::u8, DType::i8}) {
    check_op({"zero points of both",
              "ConvInteger",
              {data(bytes(t, {2, 3, 5, 4}, 1)), data(bytes(DType::i8, {4, 3, 3, 2}, 2)), data(bytes(t, {}, 3)),
               data(bytes(DType::i8, {4}, 4))},
              {{"pads", Ints{1, 0, 1, 1}}, {"strides", Ints{2, 1}}}});
    check_op({"groups",
              "ConvInteger",
              {data(bytes(t, {1, 4, 5, 4}, 1)), data(bytes(DType::u8, {6, 2, 2, 2}, 2))},
              {{"group", int64_t{2}}}});
  }
  check_op({"1-D",
            "ConvInteger",
            {data(bytes(DType::u8, {1, 4, 9}, 1)), known(bytes(DType::i8, {6, 4, 3}, 2))},
            {{"dilations", Ints{2}}}});
  check_op({"constant weights",
            "ConvInteger",
            {data(bytes(DType::u8, {1, 5, 4, 5}, 1)), known(bytes(DType::i8, {17, 5, 3, 3}, 2)),
             known(tensor(DType::u8, {}, {77}))},
            {{"pads", Ints{1, 1, 1, 1}}}});
  check_op({"constant weights of nine bits",
            "ConvInteger",
            {data(bytes(DType::i8, {1, 3, 6, 7}, 1)), known(bytes(DType::u8, {5, 3, 3, 3}, 2)),
             known(tensor(DType::i8, {}, {-3})), known(tensor(DType::u8, {}, {9}))}});
  check_op({"depthwise",
            "ConvInteger",
            {data(bytes(DType::u8, {1, 18, 4, 5}, 1)), known(bytes(DType::i8, {18, 1, 3, 3}, 2)),
             known(tensor(DType::u8, {}, {77}))},
            {{"group", int64_t{18}}, {"pads", Ints{1, 1, 1, 1}}}});
  EXPECT_NE(
      refusal({"floats", "ConvInteger", {data(f32({1, 1, 1, 1}, {1})), data(f32({1, 1, 1, 1}, {1}))}}).find("i8 or u8"),
      std::string::npos);
}

TEST(MatMulInteger, TakesConstantMatrices) {
  for (const int64_t k : {1, 4, 10})
    for (const DType a : {DType::u8, DType::i8})
      check_op({concat("K = ", k),
                "MatMulInteger",
                {data(bytes(a, {2, 3, k}, 1)), known(bytes(DType::u8, {k, 50}, 2)), known(bytes(a, {}, 3)),
                 known(bytes(DType::u8, {50}, 4))}});
}

TEST(PackedMatMul, EqualsMatMulInteger) {
  for (const int64_t n : {1, 48, 50}) {
    const Tensor a = bytes(DType::u8, {2, 3, 8}, 1), b = bytes(DType::i8, {8, n}, 2);
    const Tensor packed = check_op(internal("pack", "PackMatMul", {known(b)}))[0];
    OpCase row = internal("product", "PackedMatMul", {data(a), known(packed)}, {{"k", int64_t{8}}, {"n", n}});
    row.expected = run_reference({"integer", "MatMulInteger", {data(a), data(b)}});
    check_op(row);
  }
}

TEST(Quantize, NotANumberIsTheLowestValue) {
  const OpInput x = data(f32({3}, {NAN, 1, -1})), scale = data(f32({}, {2}));
  check_op(
      {"u8", "QuantizeLinear", {x, scale, data(tensor(DType::u8, {}, {9}))}, {}, {tensor(DType::u8, {3}, {0, 9, 9})}});
  check_op({"i8",
            "QuantizeLinear",
            {x, scale, data(tensor(DType::i8, {}, {9}))},
            {},
            {tensor(DType::i8, {3}, {-128, 9, 9})}});
  check_op({"infinite scale",
            "QuantizeLinear",
            {data(f32({2}, {INFINITY, 1})), data(f32({}, {INFINITY})), data(tensor(DType::i8, {}, {9}))},
            {},
            {tensor(DType::i8, {2}, {-128, 9})}});
}

}  // namespace
}  // namespace gcg::test
