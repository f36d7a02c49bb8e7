#include "tools/gcc-graph/io/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

struct NpyType {
  const char* descr;  // the type in the header, without the byte order mark
  gart::DType dtype;
  int bits = 0;  // bits used in each byte; 0: all
};

constexpr NpyType kTypes[] = {{"f4", gart::DType::f32}, {"f8", gart::DType::f64}, {"f2", gart::DType::f16},
                              {"i1", gart::DType::i8},  {"i2", gart::DType::i16}, {"i4", gart::DType::i32},
                              {"i8", gart::DType::i64}, {"u1", gart::DType::u8},  {"u2", gart::DType::u16},
                              {"u4", gart::DType::u32}, {"u8", gart::DType::u64}, {"b1", gart::DType::boolean}};

/// Types that NumPy knows only by name, when ml_dtypes is imported.
constexpr NpyType kNamedTypes[] = {{"bfloat16", gart::DType::bf16},
                                   {"float8_e4m3fn", gart::DType::f8e4m3fn},
                                   {"float8_e4m3fnuz", gart::DType::f8e4m3fnuz},
                                   {"float8_e5m2", gart::DType::f8e5m2},
                                   {"float8_e5m2fnuz", gart::DType::f8e5m2fnuz},
                                   {"float4_e2m1fn", gart::DType::f4e2m1, 4},
                                   {"int4", gart::DType::i4, 4},
                                   {"uint4", gart::DType::u4, 4},
                                   {"int2", gart::DType::i2, 2},
                                   {"uint2", gart::DType::u2, 2}};

constexpr size_t kMostString = 1 << 20;  // bytes

constexpr char kMagic[] = "\x93NUMPY";

/// The text after "'key':" in an .npy header.
std::string header_field(const std::string& header, const std::string& key, const std::string& where) {
  const auto at = header.find("'" + key + "'");
  const auto colon = at == std::string::npos ? at : header.find(':', at);
  if (colon == std::string::npos) fail(where, ": the .npy header has no '", key, "'");
  return header.substr(colon + 1);
}

int64_t parse_extent(const std::string& text, const std::string& where) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail(where, ": '", text, "' is not an extent");
  return value;
}

/// "<f4", or a name.
std::string descr_of(const std::string& header, const std::string& where) {
  const std::string text = header_field(header, "descr", where);
  const auto quote = text.find('\''), end = text.find('\'', quote + 1);
  return quote == std::string::npos || end == std::string::npos ? "" : text.substr(quote + 1, end - quote - 1);
}

const NpyType& type_of(const std::string& descr, const std::string& where) {
  for (const NpyType& t : kTypes)
    if (descr.size() == 3 && descr.substr(1) == t.descr) return t;
  for (const NpyType& t : kNamedTypes)
    if (descr == t.descr) return t;
  if (descr.find('O') != std::string::npos)
    fail(where, ": it has Python objects; store strings as str: array.astype(str)");
  fail(where, ": element type '", descr, "' is not supported");
}

void swap_bytes(HostTensor& t) {
  const auto size = static_cast<int64_t>(gart::size_of(t.dtype));
  for (auto at = t.bytes.begin(); at != t.bytes.end(); at += size) std::reverse(at, at + size);
}

/// ml_dtypes leaves the unused bits of a byte undefined. This function fills them with the sign of signed integers, and
/// clears them for other types.
void extend(HostTensor& t, int bits) {
  const bool is_signed = t.dtype == gart::DType::i4 || t.dtype == gart::DType::i2;
  const int sign = is_signed ? 1 << (bits - 1) : 0;
  for (uint8_t& byte : t.bytes) byte = static_cast<uint8_t>(((byte & ((1 << bits) - 1)) ^ sign) - sign);
}

/// Transposes `t` from Fortran's order (first index fastest) to C's order (last index fastest).
void store_by_rows(HostTensor& t) {
  const size_t size = gart::size_of(t.dtype), rank = t.shape.size();
  std::vector<uint8_t> rows(t.bytes.size());
  std::vector<int64_t> index(rank, 0);
  for (size_t at = 0; at < rows.size(); at += size) {
    int64_t from = 0;
    for (size_t d = rank; d-- > 0;) from = from * t.shape[d] + index[d];
    std::memcpy(&rows[at], &t.bytes[static_cast<size_t>(from) * size], size);
    for (size_t d = rank; d-- > 0 && ++index[d] == t.shape[d];) index[d] = 0;
  }
  t.bytes = std::move(rows);
}

void append_utf8(std::string& text, uint32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr int kLead[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kLead[more] | c >> (6 * more));
  for (int i = more; i-- > 0;) text += static_cast<char>(0x80 | (c >> (6 * i) & 0x3f));
}

/// The strings of an array, in UTF-8. NumPy pads short strings with NUL.
std::vector<std::string> npy_strings(const NpyHeader& header, const std::vector<uint8_t>& bytes) {
  const int64_t count = gart::Shape(std::span<const int64_t>(header.shape)).elements();
  std::vector<std::string> texts(static_cast<size_t>(std::max<int64_t>(count, 0)));
  const size_t step = header.wide ? 4 : 1;
  size_t at = header.elements_at;
  for (std::string& text : texts) {
    for (size_t i = 0; i < header.width; i += step) {
      const uint8_t* c = &bytes[at + i];
      if (!header.wide)
        text += static_cast<char>(*c);
      else
        append_utf8(text, header.swapped ? uint32_t{c[0]} << 24 | c[1] << 16 | c[2] << 8 | c[3]
                                         : uint32_t{c[3]} << 24 | c[2] << 16 | c[1] << 8 | c[0]);
    }
    text.resize(text.find_last_not_of('\0') + 1);
    at += header.width;
  }
  return texts;
}

}  // namespace

NpyHeader read_npy_header(std::span<const uint8_t> data, const std::string& where) {
  if (data.size() < 10 || std::memcmp(data.data(), kMagic, 6) != 0) fail(where, ": not a .npy array");
  const bool wide = data[6] >= 2;
  if (wide && data.size() < 12) fail(where, ": the .npy header is cut off");
  const size_t start = wide ? 12 : 10;
  const size_t length = wide ? data[8] | data[9] << 8 | data[10] << 16 | static_cast<size_t>(data[11]) << 24
                             : static_cast<size_t>(data[8] | data[9] << 8);
  if (length > kMostNpyHeader - start) fail(where, ": the .npy header has ", length, " bytes");
  if (start + length > data.size()) fail(where, ": the .npy header is cut off");
  const std::string header(data.begin() + static_cast<int64_t>(start),
                           data.begin() + static_cast<int64_t>(start + length));

  NpyHeader out;
  const std::string descr = descr_of(header, where);
  out.wide = descr.size() > 2 && descr[1] == 'U';
  if (out.wide || (descr.size() > 2 && descr[1] == 'S')) {
    out.dtype = gart::DType::string;
    out.width = static_cast<size_t>(parse_extent(descr.substr(2), where)) * (out.wide ? 4 : 1);
    if (out.width > kMostString) fail(where, ": its strings have ", out.width, " bytes, the limit is ", kMostString);
  } else {
    const NpyType& type = type_of(descr, where);
    out.dtype = type.dtype;
    out.bits = type.bits;
  }
  const std::string shape = header_field(header, "shape", where);
  const auto open = shape.find('('), close = shape.find(')');
  if (open == std::string::npos || close == std::string::npos) fail(where, ": the .npy header has no shape");
  std::stringstream list(shape.substr(open + 1, close - open - 1));
  for (std::string d; std::getline(list, d, ',');)
    if (const auto digits = d.find_first_not_of(' '); digits != std::string::npos)
      out.shape.push_back(parse_extent(d.substr(digits), where));
  out.elements_at = start + length;
  const auto elements = checked_bytes(out.shape, out.dtype, where) / static_cast<int64_t>(gart::size_of(out.dtype));
  const size_t width = out.dtype == gart::DType::string ? out.width : gart::size_of(out.dtype);
  if (__builtin_mul_overflow(static_cast<size_t>(elements), width, &out.element_bytes))
    fail(where, ": the tensor's extents are out of range");
  out.swapped = descr[0] == '>';
  out.by_columns = header_field(header, "fortran_order", where).find("False") > 2;
  return out;
}

void check_npy_size(const NpyHeader& header, uint64_t size, const std::string& where) {
  if (size - header.elements_at != header.element_bytes)
    fail(where, ": the array holds ", size - header.elements_at, " bytes, but its header asks for ",
         header.element_bytes);
}

HostTensor npy_tensor(const NpyHeader& header, const std::vector<uint8_t>& bytes) {
  HostTensor out;
  if (header.dtype == gart::DType::string) {
    out = string_tensor(header.shape, npy_strings(header, bytes), "a .npy array of strings");
    if (header.by_columns) store_by_rows(out);
    return out;
  }
  out.dtype = header.dtype;
  out.shape = header.shape;
  out.bytes.assign(bytes.begin() + static_cast<int64_t>(header.elements_at), bytes.end());
  if (header.swapped) swap_bytes(out);
  if (header.bits > 0) extend(out, header.bits);
  if (header.by_columns) store_by_rows(out);
  return out;
}

HostTensor parse_npy(const std::vector<uint8_t>& data, const std::string& where) {
  const NpyHeader header = read_npy_header(data, where);
  check_npy_size(header, data.size(), where);
  return npy_tensor(header, data);
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

}  // namespace gcg::tools
