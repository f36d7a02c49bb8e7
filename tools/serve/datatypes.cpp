#include "tools/serve/datatypes.h"

#include <algorithm>
#include <utility>

namespace gcg::serve {
namespace {

using gart::DType;

// The protocol defines the first twelve names. The other types have similar names, and only binary data.
constexpr std::pair<DType, std::string_view> kNames[] = {
    {DType::boolean, "BOOL"},
    {DType::u8, "UINT8"},
    {DType::u16, "UINT16"},
    {DType::u32, "UINT32"},
    {DType::u64, "UINT64"},
    {DType::i8, "INT8"},
    {DType::i16, "INT16"},
    {DType::i32, "INT32"},
    {DType::i64, "INT64"},
    {DType::f16, "FP16"},
    {DType::f32, "FP32"},
    {DType::f64, "FP64"},
    {DType::bf16, "BF16"},
    {DType::f8e4m3fn, "FP8E4M3FN"},
    {DType::f8e4m3fnuz, "FP8E4M3FNUZ"},
    {DType::f8e5m2, "FP8E5M2"},
    {DType::f8e5m2fnuz, "FP8E5M2FNUZ"},
    {DType::f4e2m1, "FP4E2M1"},
    {DType::i4, "INT4"},
    {DType::u4, "UINT4"},
    {DType::i2, "INT2"},
    {DType::u2, "UINT2"},
};

}  // namespace

std::string_view datatype_name(DType dtype) {
  const auto* at = std::ranges::find(kNames, dtype, &std::pair<DType, std::string_view>::first);
  return at == std::end(kNames) ? "" : at->second;
}

DType dtype_of(std::string_view datatype) {
  const auto* at = std::ranges::find(kNames, datatype, &std::pair<DType, std::string_view>::second);
  return at == std::end(kNames) ? DType::undefined : at->first;
}

}  // namespace gcg::serve
