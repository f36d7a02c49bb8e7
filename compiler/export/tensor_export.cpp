#include "compiler/export/tensor_export.h"

namespace gcg {
namespace {

/// Bits per element if several elements share a byte; else 0.
int packed_bits(DType dtype) { return dtype == DType::f4e2m1 ? 4 : small_int_bits(dtype); }

/// Packs the elements; the first one is in the low bits of the first byte.
std::string packed(const Tensor& tensor, int bits) {
  const int64_t per_byte = 8 / bits, mask = (1 << bits) - 1;
  std::string bytes(static_cast<size_t>((tensor.elements() + per_byte - 1) / per_byte), '\0');
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const int64_t low = tensor.data()[i] & mask;
    char& byte = bytes[static_cast<size_t>(i / per_byte)];
    byte = static_cast<char>(byte | low << (i % per_byte * bits));
  }
  return bytes;
}

}  // namespace

bool is_plain(const Tensor& tensor) { return packed_bits(tensor.dtype()) == 0; }

onnx::TensorProto tensor_header(const Tensor& tensor, const std::string& name) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(dtype_to_onnx(tensor.dtype()));
  for (const int64_t extent : tensor.shape()) proto.add_dims(extent);
  return proto;
}

onnx::TensorProto export_tensor(const Tensor& tensor, const std::string& name) {
  onnx::TensorProto proto = tensor_header(tensor, name);
  if (is_plain(tensor))
    proto.set_raw_data(tensor.data(), static_cast<size_t>(tensor.bytes()));
  else
    proto.set_raw_data(packed(tensor, packed_bits(tensor.dtype())));
  return proto;
}

onnx::TypeProto export_type(DType dtype, const std::optional<Shape>& shape, bool symbols) {
  onnx::TypeProto proto;
  auto& tensor = *proto.mutable_tensor_type();
  tensor.set_elem_type(dtype_to_onnx(dtype));
  if (!shape) return proto;
  auto& dims = *tensor.mutable_shape();
  for (const Dim& extent : *shape) {
    auto& dim = *dims.add_dim();
    if (extent.is_constant())
      dim.set_dim_value(extent.constant());
    else if (symbols)
      dim.set_dim_param(extent.str());
  }
  return proto;
}

}  // namespace gcg
