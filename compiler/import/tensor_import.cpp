#include "compiler/import/tensor_import.h"

#include <algorithm>
#include <charconv>

#include "compiler/ir/dim.h"

namespace gcg {
namespace {

using onnx::TensorProto;

constexpr int64_t kLargestTensor = int64_t{1} << 47;  // bytes; the address space of the compiling machines

const char* onnx_type_name(int32_t type) {
  static constexpr const char* kNames[] = {
      "undefined", "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
      "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
      "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};
  return type >= 0 && type < static_cast<int32_t>(std::size(kNames)) ? kNames[type] : "unknown";
}

/// A view if the elements are aligned (and, for bool, are 0 or 1), else a copy.
Tensor view_or_copy(DType dtype, const std::vector<int64_t>& shape, const uint8_t* data,
                    const std::shared_ptr<const void>& owner) {
  Tensor view(dtype, shape, data, owner);
  bool in_place = reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(size_of(dtype)) == 0;
  if (dtype == DType::boolean)
    for (int64_t i = 0; i < view.elements() && in_place; ++i) in_place = data[i] <= 1;
  if (in_place) return view;
  Tensor copy(dtype, shape);
  std::memcpy(copy.mutable_data(), data, static_cast<size_t>(copy.bytes()));
  if (dtype == DType::boolean)
    for (uint8_t& b : copy.as_mutable<uint8_t>()) b = b != 0;
  return copy;
}

int64_t external_number(const std::string& text, const char* key, const std::string& what) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    fail(what, " has external data with ", key, " '", text, "', which is not a count of bytes");
  return value;
}

Tensor external_tensor(const TensorProto& proto, const std::string& name, DType dtype,
                       const std::vector<int64_t>& shape, int64_t bytes, ExternalData& external) {
  const std::string what = concat("tensor '", name, "'");
  std::string location;
  int64_t offset = 0, length = bytes;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = external_number(entry.value(), "offset", what);
    if (entry.key() == "length") length = external_number(entry.value(), "length", what);
  }
  if (length != bytes) fail(what, " has external data of ", length, " bytes, but its shape and type need ", bytes);
  const auto file = external.file(location, name);
  const auto size = static_cast<int64_t>(file->bytes().size());
  if (offset > size || length > size - offset)
    fail(what, " has external data at bytes ", offset, " to ", offset, " + ", length, " of ", location,
         ", which has only ", size, " bytes");
  return view_or_copy(dtype, shape, file->bytes().data() + offset, file);
}

/// Copies a typed field. Each element is narrowed to the tensor's dtype by its low bits, as ONNX packs small types.
template <class Field>
Tensor typed_tensor(const Field& field, DType dtype, const std::vector<int64_t>& shape, int64_t elements,
                    const std::string& name) {
  if (field.size() != elements)
    fail("tensor '", name, "' has ", field.size(), " elements of data, but its shape needs ", elements);
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < elements; ++i) {
    const auto element = field[static_cast<int>(i)];
    std::memcpy(t.mutable_data() + i * size_of(dtype), &element, static_cast<size_t>(size_of(dtype)));
    if (dtype == DType::boolean) t.mutable_data()[i] = element != 0;
  }
  return t;
}

/// Bits per element of a model file if several elements share a byte; else 0.
int packed_bits(DType dtype) { return dtype == DType::f4e2m1 ? 4 : small_int_bits(dtype); }

/// Unpacks the elements; the first one is in the low bits of the first byte.
template <class ByteAt>
Tensor unpacked_tensor(DType dtype, const std::vector<int64_t>& shape, int64_t elements, int bits, size_t bytes,
                       const std::string& name, ByteAt byte_at) {
  const int64_t per_byte = 8 / bits, needed = (elements + per_byte - 1) / per_byte;
  if (static_cast<int64_t>(bytes) != needed)
    fail("tensor '", name, "' has ", bytes, " bytes of data, but its shape and type need ", needed);
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < elements; ++i) {
    const int low = byte_at(i / per_byte) >> (i % per_byte * bits) & ((1 << bits) - 1);
    if (dtype == DType::f4e2m1)
      t.mutable_data()[i] = static_cast<uint8_t>(low);
    else
      t.set_int(i, low);
  }
  return t;
}

}  // namespace

std::optional<std::string> unsupported_dtype(int32_t onnx_type) {
  if (dtype_from_onnx(onnx_type)) return std::nullopt;
  return concat("element type ", onnx_type_name(onnx_type), " (number ", onnx_type, ") is not supported");
}

int64_t checked_elements(const std::vector<int64_t>& shape, DType dtype, const std::string& what) {
  int64_t elements = 1;
  bool empty = false, huge = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) fail(what, " has the negative extent ", shape[i], " in dimension ", i);
    empty |= shape[i] == 0;
    huge |= __builtin_mul_overflow(elements, std::max<int64_t>(shape[i], 1), &elements);
  }
  if (empty) return 0;
  if (huge || elements > kLargestTensor / std::max<int64_t>(size_of(dtype), 1))
    fail(what, " has the shape ", str(to_shape(shape)), ", which is larger than ", kLargestTensor, " bytes");
  return elements;
}

Tensor import_tensor(const TensorProto& proto, const std::string& name, const std::shared_ptr<const void>& owner,
                     ExternalData& external) {
  const DType dtype = dtype_from_onnx(proto.data_type()).value();
  const std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  if (proto.has_segment()) fail("tensor '", name, "' is stored in segments, which no ONNX writer produces");
  const int64_t elements = checked_elements(shape, dtype, concat("tensor '", name, "'"));
  const int64_t bytes = elements * size_of(dtype);
  if (proto.data_location() == TensorProto::EXTERNAL && packed_bits(dtype) > 0)
    fail("tensor '", name, "' has external data of type ", name_of(dtype),
         ", which is read from the model itself only");
  if (proto.data_location() == TensorProto::EXTERNAL)
    return external_tensor(proto, name, dtype, shape, bytes, external);
  if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    if (const int bits = packed_bits(dtype); bits > 0)
      return unpacked_tensor(dtype, shape, elements, bits, raw.size(), name,
                             [&](int64_t i) { return static_cast<uint8_t>(raw[static_cast<size_t>(i)]); });
    if (static_cast<int64_t>(raw.size()) != bytes)
      fail("tensor '", name, "' has ", raw.size(), " bytes of data, but its shape and type need ", bytes);
    return view_or_copy(dtype, shape, reinterpret_cast<const uint8_t*>(raw.data()), owner);
  }
  if (const int bits = packed_bits(dtype); bits > 0)
    return unpacked_tensor(dtype, shape, elements, bits, static_cast<size_t>(proto.int32_data_size()), name,
                           [&](int64_t i) { return static_cast<uint8_t>(proto.int32_data(static_cast<int>(i))); });
  switch (dtype) {
    case DType::f32:
      return typed_tensor(proto.float_data(), dtype, shape, elements, name);
    case DType::f64:
      return typed_tensor(proto.double_data(), dtype, shape, elements, name);
    case DType::i64:
      return typed_tensor(proto.int64_data(), dtype, shape, elements, name);
    case DType::u32:
    case DType::u64:
      return typed_tensor(proto.uint64_data(), dtype, shape, elements, name);
    default:
      return typed_tensor(proto.int32_data(), dtype, shape, elements, name);
  }
}

Tensor import_sparse_tensor(const onnx::SparseTensorProto& proto, const std::string& name,
                            const std::shared_ptr<const void>& owner, ExternalData& external) {
  const Tensor values = import_tensor(proto.values(), name, owner, external);
  if (proto.indices().data_type() != TensorProto::INT64)
    fail("tensor '", name, "' has indices of type ", onnx_type_name(proto.indices().data_type()), ", not int64");
  const Tensor indices = import_tensor(proto.indices(), name + "' (indices) '", owner, external);
  const std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  const int64_t elements = checked_elements(shape, values.dtype(), concat("tensor '", name, "'"));
  const int64_t count = values.elements(), rank = indices.rank() == 2 ? static_cast<int64_t>(shape.size()) : 1;
  if (values.rank() != 1 || indices.rank() < 1 || indices.rank() > 2 || indices.elements() != count * rank)
    fail("tensor '", name, "' has ", count, " values, but indices of the shape ", str(to_shape(indices.shape())));
  Tensor dense(values.dtype(), shape);
  const auto width = static_cast<size_t>(size_of(values.dtype()));
  std::fill_n(dense.mutable_data(), static_cast<size_t>(elements) * width, uint8_t{0});
  int64_t last = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = indices.at_int(i * rank);
    bool inside = at >= 0 && at < (rank == 1 && indices.rank() == 1 ? elements : shape.empty() ? 0 : shape[0]);
    for (int64_t d = 1; inside && d < rank; ++d) {
      const int64_t index = indices.at_int(i * rank + d), extent = shape[static_cast<size_t>(d)];
      inside = index >= 0 && index < extent;
      at = at * extent + index;
    }
    if (!inside) fail("tensor '", name, "': index ", i, " lies outside its shape ", str(to_shape(shape)));
    if (at <= last) fail("tensor '", name, "': index ", i, " is not above the one before it");
    last = at;
    std::memcpy(dense.mutable_data() + static_cast<size_t>(at) * width, values.data() + static_cast<size_t>(i) * width,
                width);
  }
  return dense;
}

}  // namespace gcg
