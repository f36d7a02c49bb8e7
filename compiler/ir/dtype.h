// Element types of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gcg {

/// The values are those of the artifact (artifact_schema/gart.fbs, enum DType).
enum class DType : uint8_t {
  undefined,
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  // Only stored, moved and cast. Each takes one byte; narrower types use its low bits (integers are extended to the
  // byte).
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f4e2m1,
  i4,
  u4,
  i2,
  u2,
};

/// Bytes of one element; `boolean` takes one byte, 0 or 1.
int64_t size_of(DType);
/// "f32", "i64", "bool", ...
std::string_view name_of(DType);
std::optional<DType> dtype_from_name(std::string_view);
/// ONNX TensorProto.DataType number <-> DType; nullopt for types that are not supported (strings, complex, fp8 of
/// exponents only).
std::optional<DType> dtype_from_onnx(int32_t);
int32_t dtype_to_onnx(DType);

/// True for the arithmetic float types, false for the small ones.
bool is_float(DType);
bool is_small_float(DType);
/// Bits of i4, u4, i2 and u2; 0 for all others.
int small_int_bits(DType);
/// The type that kernels load and store for a type without arithmetic: i8 for i4 and i2, else u8. Other types are
/// returned unchanged.
DType storage_dtype(DType);
bool is_signed_int(DType);
bool is_unsigned_int(DType);
inline bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }

}  // namespace gcg
