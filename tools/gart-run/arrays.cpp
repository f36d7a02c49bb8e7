#include "tools/gart-run/arrays.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "tools/gcc-graph/io/exact_numbers.h"
#include "tools/gcc-graph/io/npy.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fs = std::filesystem;

std::pair<std::string, std::string> parted(const std::string& option, const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) fail(option, " ", text, ": it must be NAME=VALUE");
  return {text.substr(0, at), text.substr(at + 1)};
}

int64_t whole_number(const std::string& what, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    fail(what, ": '", text, "' is not a whole number of at least 0");
  return value;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
bool is_name(const std::string& text) { return text.find_first_of("+-*/%,() ") == std::string::npos; }

using Extents = std::map<std::string, int64_t>;

std::vector<int64_t> shape_of(const gart::TensorInfo& info, const Extents& extents) {
  std::vector<int64_t> shape;
  for (const std::string& d : info.dims) {
    if (!is_number(d) && !is_name(d))
      fail("input '", info.name, "': its extent ", d, " follows from others; give it with --input");
    const auto at = extents.find(d);
    shape.push_back(is_number(d) ? whole_number("input '" + info.name + "'", d) : at == extents.end() ? 1 : at->second);
  }
  return shape;
}

template <class T>
double element(const gart::TensorView& t, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(t.data) + static_cast<size_t>(i) * sizeof value, sizeof value);
  return static_cast<double>(value);
}

double f16_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, digits = bits & 1023;
  const double size = exponent == 31  ? (digits != 0 ? NAN : INFINITY)
                      : exponent == 0 ? std::ldexp(digits, -24)
                                      : std::ldexp(1024 + digits, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

double bf16_value(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

}  // namespace

Arrays inputs_of(const gart::Program& program, const std::string& entry, const std::vector<std::string>& files,
                 const std::vector<std::string>& dims, int64_t seed) {
  const auto infos = program.inputs(entry);
  Arrays arrays;
  for (const std::string& text : files) {
    const auto [name, path] = parted("--input", text);
    if (std::none_of(infos.begin(), infos.end(), [&, &n = name](const gart::TensorInfo& i) { return i.name == n; }))
      fail("--input ", text, ": the model has no input '", name, "'");
    arrays[name] = parse_npy(read_file(path), path);
  }
  Extents extents;
  for (const gart::TensorInfo& info : infos)
    if (const auto at = arrays.find(info.name); at != arrays.end() && at->second.shape.size() == info.dims.size())
      for (size_t d = 0; d < info.dims.size(); ++d)
        if (!is_number(info.dims[d])) extents.try_emplace(info.dims[d], at->second.shape[d]);
  for (const std::string& text : dims) {
    const auto [name, value] = parted("--dim", text);
    const bool known = std::any_of(infos.begin(), infos.end(), [&, &n = name](const gart::TensorInfo& i) {
      return std::count(i.dims.begin(), i.dims.end(), n) != 0;
    });
    if (!known) fail("--dim ", text, ": the model has no open extent '", name, "'");
    extents[name] = whole_number("--dim " + text, value);
  }
  for (const gart::TensorInfo& info : infos) {
    if (arrays.count(info.name) != 0) continue;
    if (seed < 0) fail("input '", info.name, "' is not given: --input ", info.name, "=F.npy, or --random SEED for all");
    arrays[info.name] = exact_numbers(info.name, info.dtype, shape_of(info, extents), static_cast<uint64_t>(seed));
  }
  return arrays;
}

std::string file_of(const std::string& name) {
  std::string file = name;
  std::replace(file.begin(), file.end(), '/', '_');
  return file + ".npy";
}

Arrays read_folder(const std::string& folder) {
  std::error_code error;
  Arrays arrays;
  for (const auto& file : fs::directory_iterator(folder, error))
    if (file.path().extension() == ".npy")
      arrays[file.path().stem().string()] = parse_npy(read_file(file.path().string()), file.path().string());
  if (error) fail(folder, ": ", error.message());
  return arrays;
}

void write_folder(const std::string& folder, const std::vector<gart::Tensor>& tensors) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, ": ", error.message());
  for (const gart::Tensor& t : tensors) {
    const std::string header = npy_header(t);
    std::vector<uint8_t> bytes(header.begin(), header.end());
    const auto* data = static_cast<const uint8_t*>(t.data());
    bytes.insert(bytes.end(), data, data + t.bytes());
    write_file((fs::path(folder) / file_of(t.name())).string(), bytes);
  }
}

double element_at(const gart::TensorView& t, int64_t i) {
  switch (t.dtype) {
    case gart::DType::f32:
      return element<float>(t, i);
    case gart::DType::f64:
      return element<double>(t, i);
    case gart::DType::f16:
      return f16_value(static_cast<uint16_t>(element<uint16_t>(t, i)));
    case gart::DType::bf16:
      return bf16_value(static_cast<uint16_t>(element<uint16_t>(t, i)));
    case gart::DType::i8:
      return element<int8_t>(t, i);
    case gart::DType::i16:
      return element<int16_t>(t, i);
    case gart::DType::i32:
      return element<int32_t>(t, i);
    case gart::DType::i64:
      return element<int64_t>(t, i);
    case gart::DType::u8:
    case gart::DType::boolean:
      return element<uint8_t>(t, i);
    case gart::DType::u16:
      return element<uint16_t>(t, i);
    case gart::DType::u32:
      return element<uint32_t>(t, i);
    case gart::DType::u64:
      return element<uint64_t>(t, i);
    default:
      fail("elements of ", gart::name_of(t.dtype), " are not shown as numbers here");
  }
}

}  // namespace gcg::tools
