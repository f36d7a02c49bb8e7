// QuantizeLinear and DequantizeLinear. ConvInteger, QLinearConv, QLinearMatMul and DynamicQuantizeLinear expand into
// plain operators; tools/conformance.sh checks them.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

TEST(Quantize, RoundsToEvenAndSaturates) {
  const OpInput x = data(f32({7}, {0, 1, 3, 5, 1000, -1000, -3})), scale = data(f32({}, {2}));
  check_op(
      {"u8 without a zero point", "QuantizeLinear", {x, scale}, {}, {tensor(DType::u8, {7}, {0, 0, 2, 2, 255, 0, 0})}});
  check_op({"i8",
            "QuantizeLinear",
            {x, scale, data(tensor(DType::i8, {}, {1}))},
            {},
            {tensor(DType::i8, {7}, {1, 1, 3, 3, 127, -128, -1})}});
  check_op({"u16", "QuantizeLinear", {x, scale, data(tensor(DType::u16, {}, {500}))}});
  for (const DType t : {DType::i4, DType::u4, DType::i2, DType::u2, DType::f8e4m3fn, DType::f4e2m1})
    check_op({std::string(name_of(t)), "QuantizeLinear", {x, scale, data(tensor(t, {}, {0}))}});
  check_op({"by attribute", "QuantizeLinear", {x, scale}, {{"output_dtype", int64_t{5}}}});  // i16
  check_op({"infinite",
            "QuantizeLinear",
            {data(f32({2}, {INFINITY, -INFINITY})), scale},
            {},
            {tensor(DType::u8, {2}, {255, 0})}});
  check_op({"no number: the least, as onnxruntime",
            "QuantizeLinear",
            {data(f32({3}, {NAN, 1, -NAN})), scale, data(tensor(DType::i8, {}, {3}))},
            {},
            {tensor(DType::i8, {3}, {-128, 3, -128})}});
  check_op({"f16",
            "QuantizeLinear",
            {data(pattern(DType::f16, {9})), data(tensor(DType::f16, {}, {0.1})), data(tensor(DType::i8, {}, {3}))}});
  check_op({"integers", "QuantizeLinear", {data(pattern(DType::i32, {9})), data(f32({}, {3}))}});
}

TEST(Quantize, ByAxisAndByBlock) {
  for (const char* op : {"QuantizeLinear", "DequantizeLinear"}) {
    const DType from = std::string(op) == "QuantizeLinear" ? DType::f32 : DType::i8;
    const OpInput x = data(pattern(from, {2, 4, 3}));
    for (const int64_t axis : {0, 1, -1}) {
      const int64_t n = axis == 0 ? 2 : axis == 1 ? 4 : 3;
      check_op({concat("axis ", axis),
                op,
                {x, data(pattern(DType::f32, {n}, 2)), data(pattern(DType::i8, {n}, 3))},
                {{"axis", axis}}});
    }
    check_op(
        {"blocks",
         op,
         {x, data(f32({2, 2, 3}, {1, 2, 3, 4, 5, 6, 0.5, 0.25, 7, 8, 9, 10})), data(pattern(DType::i8, {2, 2, 3}))},
         {{"axis", int64_t{1}}, {"block_size", int64_t{2}}}});
  }
}

TEST(Dequantize, GivesTheLiteral) {
  check_op({"u8",
            "DequantizeLinear",
            {data(tensor(DType::u8, {3}, {0, 128, 255})), data(f32({}, {2})), data(tensor(DType::u8, {}, {128}))},
            {},
            {f32({3}, {-256, 0, 254})}});
  check_op({"i4",
            "DequantizeLinear",
            {data(tensor(DType::i4, {5}, {0, 1, 7, -4, -8})), data(f32({}, {2})), data(tensor(DType::i4, {}, {1}))},
            {},
            {f32({5}, {-2, 0, 12, -10, -18})}});
  check_op({"f8", "DequantizeLinear", {data(pattern(DType::f8e5m2, {9})), data(f32({}, {2}))}});
  check_op({"i32", "DequantizeLinear", {data(pattern(DType::i32, {5})), data(f32({}, {0.5}))}});
  check_op({"to f16", "DequantizeLinear", {data(pattern(DType::i8, {5})), data(tensor(DType::f16, {}, {0.5}))}});
}

TEST(Quantize, Refuses) {
  const OpInput x = data(pattern(DType::f32, {2, 3}));
  EXPECT_NE(refusal({"scale", "QuantizeLinear", {x, data(f32({4}, {1}))}}).find("input 1 and axis 1"),
            std::string::npos);
  EXPECT_NE(refusal({"to f32", "QuantizeLinear", {x, data(f32({}, {1}))}, {{"output_dtype", int64_t{1}}}}).find("f32"),
            std::string::npos);
  EXPECT_NE(refusal({"from f32", "DequantizeLinear", {x, data(f32({}, {1}))}})
                .find("input 0 is f32, it must be an integer type of up to 32 bits"),
            std::string::npos);
}

}  // namespace
}  // namespace gcg::test
