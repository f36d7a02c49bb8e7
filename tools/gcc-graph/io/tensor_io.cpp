#include "tools/gcc-graph/io/tensor_io.h"

#include <onnx/onnx_pb.h>
#include <zip.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "compiler/ir/dtype.h"
#include "compiler/support/error.h"
#include "tools/gcc-graph/io/read_file.h"

namespace gcg::tools {
namespace {

struct NpyType {
  const char* descr;  // without the byte order mark
  gart::DType dtype;
};

constexpr NpyType kTypes[] = {{"f4", gart::DType::f32}, {"f8", gart::DType::f64}, {"f2", gart::DType::f16},
                              {"i1", gart::DType::i8},  {"i2", gart::DType::i16}, {"i4", gart::DType::i32},
                              {"i8", gart::DType::i64}, {"u1", gart::DType::u8},  {"u2", gart::DType::u16},
                              {"u4", gart::DType::u32}, {"u8", gart::DType::u64}, {"b1", gart::DType::boolean}};

/// Types that NumPy knows by name only, when ml_dtypes is imported.
constexpr NpyType kNamedTypes[] = {{"bfloat16", gart::DType::bf16},
                                   {"float8_e4m3fn", gart::DType::f8e4m3fn},
                                   {"float8_e4m3fnuz", gart::DType::f8e4m3fnuz},
                                   {"float8_e5m2", gart::DType::f8e5m2},
                                   {"float8_e5m2fnuz", gart::DType::f8e5m2fnuz},
                                   {"float4_e2m1fn", gart::DType::f4e2m1},
                                   {"int4", gart::DType::i4},
                                   {"uint4", gart::DType::u4},
                                   {"int2", gart::DType::i2},
                                   {"uint2", gart::DType::u2}};

constexpr char kMagic[] = "\x93NUMPY";

/// The text after "'key':" in a .npy header.
std::string header_field(const std::string& header, const std::string& key, const std::string& where) {
  const auto at = header.find("'" + key + "'");
  const auto colon = at == std::string::npos ? at : header.find(':', at);
  if (colon == std::string::npos) fail(where, ": the .npy header has no '", key, "'");
  return header.substr(colon + 1);
}

int64_t checked_bytes(const std::vector<int64_t>& shape, gart::DType dtype, const std::string& where) {
  auto bytes = static_cast<int64_t>(gart::size_of(dtype));
  for (int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes)) fail(where, ": the tensor's extents are out of range");
  return bytes;
}

int64_t parse_extent(const std::string& text, const std::string& where) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail(where, ": '", text, "' is not an extent");
  return value;
}

HostTensor parse_npy(const std::vector<uint8_t>& data, const std::string& where) {
  if (data.size() < 10 || std::memcmp(data.data(), kMagic, 6) != 0) fail(where, ": not a .npy array");
  const bool wide = data[6] >= 2;
  if (wide && data.size() < 12) fail(where, ": the .npy header is cut off");
  const size_t start = wide ? 12 : 10;
  const size_t length = wide ? data[8] | data[9] << 8 | data[10] << 16 | static_cast<size_t>(data[11]) << 24
                             : static_cast<size_t>(data[8] | data[9] << 8);
  if (start + length > data.size()) fail(where, ": the .npy header is cut off");
  const std::string header(data.begin() + static_cast<int64_t>(start),
                           data.begin() + static_cast<int64_t>(start + length));

  HostTensor out;
  const std::string descr_text = header_field(header, "descr", where);
  const auto quote = descr_text.find('\''), end = descr_text.find('\'', quote + 1);
  const std::string descr =
      quote == std::string::npos || end == std::string::npos ? "" : descr_text.substr(quote + 1, end - quote - 1);
  for (const NpyType& t : kTypes)
    if (descr.size() == 3 && descr[0] != '>' && descr.substr(1) == t.descr) out.dtype = t.dtype;
  for (const NpyType& t : kNamedTypes)
    if (descr == t.descr) out.dtype = t.dtype;
  if (out.dtype == gart::DType::undefined) fail(where, ": element type '", descr, "' is not supported");
  if (header_field(header, "fortran_order", where).find("False") > 2) fail(where, ": Fortran order is not supported");

  const std::string shape = header_field(header, "shape", where);
  const auto open = shape.find('('), close = shape.find(')');
  if (open == std::string::npos || close == std::string::npos) fail(where, ": the .npy header has no shape");
  std::stringstream list(shape.substr(open + 1, close - open - 1));
  for (std::string d; std::getline(list, d, ',');)
    if (const auto digits = d.find_first_not_of(' '); digits != std::string::npos)
      out.shape.push_back(parse_extent(d.substr(digits), where));
  const int64_t bytes = checked_bytes(out.shape, out.dtype, where);
  if (static_cast<size_t>(bytes) != data.size() - start - length)
    fail(where, ": the array holds ", data.size() - start - length, " bytes, its header asks for ", bytes);
  out.bytes.assign(data.begin() + static_cast<int64_t>(start + length), data.end());
  return out;
}

std::string npy_header(const gart::TensorView& t) {
  std::string descr;
  for (const NpyType& k : kTypes)
    if (k.dtype == t.dtype) descr = std::string(gart::size_of(t.dtype) == 1 ? "|" : "<") + k.descr;
  for (const NpyType& k : kNamedTypes)
    if (k.dtype == t.dtype) descr = k.descr;
  if (descr.empty()) fail("cannot write element type ", gart::name_of(t.dtype), " to a .npz file");
  std::string shape;
  for (int64_t d : t.shape.extents()) shape += std::to_string(d) + ", ";
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out(kMagic, 6);
  out += {1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return out + header;
}

}  // namespace

gart::TensorView HostTensor::view() const {
  return {bytes.data(), dtype, gart::Shape(std::span<const int64_t>(shape)), "cpu"};
}

NamedTensors read_npz(const std::string& path) {
  int code = 0;
  std::unique_ptr<zip_t, int (*)(zip_t*)> zip(zip_open(path.c_str(), ZIP_RDONLY, &code), zip_close);
  if (!zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail("cannot read ", path, ": ", text);
  }
  NamedTensors out;
  for (zip_int64_t i = 0; i < zip_get_num_entries(zip.get(), 0); ++i) {
    std::string name = zip_get_name(zip.get(), static_cast<zip_uint64_t>(i), 0);
    const std::string where = path + ", array '" + name + "'";
    zip_stat_t stat;
    std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(zip.get(), static_cast<zip_uint64_t>(i), 0),
                                                           zip_fclose);
    if (!file || zip_stat_index(zip.get(), static_cast<zip_uint64_t>(i), 0, &stat) != 0)
      fail(where, ": ", zip_strerror(zip.get()));
    std::vector<uint8_t> data(stat.size);
    if (zip_fread(file.get(), data.data(), data.size()) != static_cast<zip_int64_t>(data.size()))
      fail(where, ": cannot be read");
    if (name.size() > 4 && name.ends_with(".npy")) name.resize(name.size() - 4);
    out.emplace(name, parse_npy(data, where));
  }
  return out;
}

HostTensor read_npy(const std::string& path) { return parse_npy(read_file(path), path); }

HostTensor read_pb(const std::string& path) {
  const std::vector<uint8_t> data = read_file(path);
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(data.data(), static_cast<int>(data.size()))) fail(path, ": not an ONNX TensorProto");
  const auto dtype = dtype_from_onnx(proto.data_type());
  if (!dtype) fail(path, ": element type ", proto.data_type(), " is not supported");
  HostTensor out;
  out.dtype = static_cast<gart::DType>(*dtype);
  out.shape.assign(proto.dims().begin(), proto.dims().end());
  const int64_t bytes = checked_bytes(out.shape, out.dtype, path);
  const int64_t count = bytes / size_of(*dtype);
  auto copy = [&](const auto& field, auto element) {
    if (field.size() != count) fail(path, ": ", field.size(), " elements, its dims ask for ", count);
    out.bytes.resize(static_cast<size_t>(bytes));
    for (int64_t i = 0; i < count; ++i) {
      const auto v = static_cast<decltype(element)>(field[static_cast<int>(i)]);
      std::memcpy(out.bytes.data() + i * static_cast<int64_t>(sizeof v), &v, sizeof v);
    }
  };
  if (proto.has_raw_data() || count == 0) {
    out.bytes.assign(proto.raw_data().begin(), proto.raw_data().end());
    if (static_cast<int64_t>(out.bytes.size()) != bytes)
      fail(path, ": ", out.bytes.size(), " bytes, its dims ask for ", bytes);
    return out;
  }
  switch (*dtype) {
    case DType::f32:
      copy(proto.float_data(), float());
      break;
    case DType::f64:
      copy(proto.double_data(), double());
      break;
    case DType::i64:
      copy(proto.int64_data(), int64_t());
      break;
    case DType::u64:
      copy(proto.uint64_data(), uint64_t());
      break;
    case DType::u32:
      copy(proto.uint64_data(), uint32_t());
      break;
    case DType::i32:
      copy(proto.int32_data(), int32_t());
      break;
    case DType::i16:
      copy(proto.int32_data(), int16_t());
      break;
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      copy(proto.int32_data(), uint16_t());
      break;
    case DType::i8:
      copy(proto.int32_data(), int8_t());
      break;
    case DType::u8:
    case DType::boolean:
      copy(proto.int32_data(), uint8_t());
      break;
    default:
      fail(path, ": data of type ", gcg::name_of(*dtype), " is only read where it is raw");
  }
  return out;
}

void write_npz(const std::string& path, const std::map<std::string, gart::TensorView>& tensors) {
  int code = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (zip == nullptr) fail("cannot write ", path);
  std::vector<std::string> contents;
  contents.reserve(tensors.size());
  for (const auto& [name, t] : tensors) {
    std::string& content = contents.emplace_back(npy_header(t));
    content.append(static_cast<const char*>(t.data), static_cast<size_t>(t.shape.elements()) * gart::size_of(t.dtype));
    zip_source_t* source = zip_source_buffer(zip, content.data(), content.size(), 0);
    const zip_int64_t index =
        source ? zip_file_add(zip, (name + ".npy").c_str(), source, ZIP_FL_OVERWRITE | ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      zip_discard(zip);
      fail("cannot write array '", name, "' to ", path);
    }
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
  }
  if (zip_close(zip) != 0) {
    const std::string text = zip_strerror(zip);
    zip_discard(zip);
    fail("cannot write ", path, ": ", text);
  }
}

HostTensor random_tensor(const gart::TensorInfo& info, const std::vector<int64_t>& shape, uint64_t seed) {
  HostTensor out;
  out.dtype = info.dtype;
  out.shape = shape;
  const int64_t bytes = checked_bytes(shape, info.dtype, "input '" + info.name + "'");
  try {
    out.bytes.resize(static_cast<size_t>(bytes));
  } catch (const std::exception&) {
    fail("input '", info.name, "' would have ", bytes, " bytes, more than there is memory");
  }
  for (unsigned char c : info.name) seed = seed * 1099511628211u + c;
  std::mt19937_64 random(seed);
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
      *to = static_cast<uint8_t>(random() & 1);  // little-endian 0 or 1: a valid id, mask and boolean
    }
  }
  return out;
}

}  // namespace gcg::tools
