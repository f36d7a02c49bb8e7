#include "tools/gcc-graph/io/tensor_io.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>

#include "gcc_graph/values.h"
#include "tools/gcc-graph/io/npy.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

HostTensor read_npy(const std::string& path) { return parse_npy(read_file(path), path); }

namespace {

/// Reads the elements of a tensor without raw data: ONNX keeps narrow types in fields of wider ones.
void copy_elements(const onnx::TensorProto& proto, gcc_graph::DType dtype, int64_t count, const std::string& path,
                   std::vector<uint8_t>& out) {
  const auto copy = [&](const auto& field, auto element) {
    if (field.size() != count) fail(path, ": ", field.size(), " elements, but its dims ask for ", count);
    out.resize(static_cast<size_t>(count) * sizeof element);
    for (int64_t i = 0; i < count; ++i) {
      const auto v = static_cast<decltype(element)>(field[static_cast<int>(i)]);
      std::memcpy(out.data() + i * static_cast<int64_t>(sizeof v), &v, sizeof v);
    }
  };
  switch (dtype) {
    case gcc_graph::DType::f32:
      return copy(proto.float_data(), float());
    case gcc_graph::DType::f64:
      return copy(proto.double_data(), double());
    case gcc_graph::DType::i64:
      return copy(proto.int64_data(), int64_t());
    case gcc_graph::DType::u64:
      return copy(proto.uint64_data(), uint64_t());
    case gcc_graph::DType::u32:
      return copy(proto.uint64_data(), uint32_t());
    case gcc_graph::DType::i32:
      return copy(proto.int32_data(), int32_t());
    case gcc_graph::DType::i16:
      return copy(proto.int32_data(), int16_t());
    case gcc_graph::DType::u16:
    case gcc_graph::DType::f16:
    case gcc_graph::DType::bf16:
      return copy(proto.int32_data(), uint16_t());
    case gcc_graph::DType::i8:
      return copy(proto.int32_data(), int8_t());
    case gcc_graph::DType::u8:
    case gcc_graph::DType::boolean:
      return copy(proto.int32_data(), uint8_t());
    default:
      fail(path, ": data of type ", gcc_graph::name_of(dtype), " is read only from raw_data");
  }
}

}  // namespace

HostTensor read_pb(const std::string& path) {
  const std::vector<uint8_t> data = read_file(path);
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(data.data(), static_cast<int>(data.size()))) fail(path, ": not an ONNX TensorProto");
  if (proto.data_type() == onnx::TensorProto::STRING) {
    const std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
    const int64_t elements = checked_bytes(shape, gart::DType::u8, path);
    if (elements != proto.string_data_size())
      fail(path, ": ", proto.string_data_size(), " strings, but its dims ask for ", elements);
    return string_tensor(shape, {proto.string_data().begin(), proto.string_data().end()}, path);
  }
  const gcc_graph::DType dtype = gcc_graph::dtype_from_onnx(proto.data_type());
  if (dtype == gcc_graph::DType::undefined) fail(path, ": element type ", proto.data_type(), " is not supported");
  HostTensor out;
  out.dtype = static_cast<gart::DType>(dtype);
  out.shape.assign(proto.dims().begin(), proto.dims().end());
  const int64_t bytes = checked_bytes(out.shape, out.dtype, path);
  const int64_t count = bytes / gcc_graph::size_of(dtype);
  if (proto.has_raw_data() || count == 0) {
    out.bytes.assign(proto.raw_data().begin(), proto.raw_data().end());
    if (static_cast<int64_t>(out.bytes.size()) != bytes)
      fail(path, ": ", out.bytes.size(), " bytes, but its dims ask for ", bytes);
    return out;
  }
  copy_elements(proto, dtype, count, path, out.bytes);
  return out;
}

namespace {

/// Memory that the system can give without swapping; the largest number if this is unknown.
int64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (int64_t kilobytes = 0; file >> name >> kilobytes; std::getline(file, unit))
    if (name == "MemAvailable:") return kilobytes * 1024;
  return std::numeric_limits<int64_t>::max();
}

}  // namespace

HostTensor random_tensor(const gart::TensorInfo& info, const std::vector<int64_t>& shape, uint64_t seed) {
  HostTensor out;
  out.dtype = info.dtype;
  out.shape = shape;
  const int64_t bytes = checked_bytes(shape, info.dtype, "input '" + info.name + "'");
  // Linux grants more memory than it has, and kills a program that then uses the memory.
  if (bytes > available_bytes())
    fail("input '", info.name, "' would have ", bytes, " bytes, more than the free memory");
  out.bytes.resize(static_cast<size_t>(bytes));
  for (unsigned char c : info.name) seed = seed * 1099511628211u + c;
  std::mt19937_64 random(seed);
  if (info.dtype == gart::DType::string) {  // the last string is one that the input does not know
    std::vector<std::string> texts(out.bytes.size() / sizeof(char*)), known = info.strings;
    known.push_back(known.empty() ? "" : known.back() + "?");
    for (std::string& text : texts) text = known[random() % known.size()];
    return string_tensor(shape, std::move(texts), info.name);
  }
  std::normal_distribution<double> normal;
  const size_t size = gart::size_of(info.dtype);
  for (size_t i = 0; i * size < out.bytes.size(); ++i) {
    uint8_t* to = out.bytes.data() + i * size;
    if (info.dtype == gart::DType::f32) {
      const auto v = static_cast<float>(normal(random));
      std::memcpy(to, &v, sizeof v);
    } else if (info.dtype == gart::DType::f64) {
      const double v = normal(random);
      std::memcpy(to, &v, sizeof v);
    } else if (info.dtype == gart::DType::f16 || info.dtype == gart::DType::bf16) {
      const uint16_t one = info.dtype == gart::DType::f16 ? 0x3c00 : 0x3f80;
      const auto v = static_cast<uint16_t>(one | (random() & 1) << 15);
      std::memcpy(to, &v, sizeof v);
    } else {
      *to = static_cast<uint8_t>(random() & 1);  // a little-endian 0 or 1, which is a valid id, mask and boolean
    }
  }
  return out;
}

}  // namespace gcg::tools
