#include "compiler/ir/dtype.h"

#include <array>

namespace gcg {
namespace {

struct Row {
  std::string_view name;
  int64_t size;
  int32_t onnx;  // TensorProto.DataType
};

// In the order of DType.
constexpr std::array<Row, 23> kRows = {
    {{"undefined", 0, 0},   {"f32", 4, 1},     {"f64", 8, 11},        {"f16", 2, 10},    {"bf16", 2, 16},
     {"i8", 1, 3},          {"i16", 2, 5},     {"i32", 4, 6},         {"i64", 8, 7},     {"u8", 1, 2},
     {"u16", 2, 4},         {"u32", 4, 12},    {"u64", 8, 13},        {"bool", 1, 9},    {"f8e4m3fn", 1, 17},
     {"f8e4m3fnuz", 1, 18}, {"f8e5m2", 1, 19}, {"f8e5m2fnuz", 1, 20}, {"f4e2m1", 1, 23}, {"i4", 1, 22},
     {"u4", 1, 21},         {"i2", 1, 26},     {"u2", 1, 25}}};

const Row& row(DType t) { return kRows[static_cast<size_t>(t)]; }

}  // namespace

int64_t size_of(DType t) { return row(t).size; }
std::string_view name_of(DType t) { return row(t).name; }
int32_t dtype_to_onnx(DType t) { return row(t).onnx; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 1; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> dtype_from_onnx(int32_t type) {
  for (size_t i = 1; i < kRows.size(); ++i)
    if (kRows[i].onnx == type) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType t) { return t == DType::f32 || t == DType::f64 || t == DType::f16 || t == DType::bf16; }
bool is_small_float(DType t) { return t >= DType::f8e4m3fn && t <= DType::f4e2m1; }
int small_int_bits(DType t) {
  if (t == DType::i4 || t == DType::u4) return 4;
  return t == DType::i2 || t == DType::u2 ? 2 : 0;
}
DType storage_dtype(DType t) {
  if (t < DType::f8e4m3fn) return t;
  return t == DType::i4 || t == DType::i2 ? DType::i8 : DType::u8;
}
bool is_signed_int(DType t) { return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64; }
bool is_unsigned_int(DType t) { return t == DType::u8 || t == DType::u16 || t == DType::u32 || t == DType::u64; }

}  // namespace gcg
