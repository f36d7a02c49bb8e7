#include "tools/serve/json_elements.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "tools/serve/datatypes.h"
#include "tools/serve/refusal.h"

namespace gcg::serve {
namespace {

using gart::DType;
using nlohmann::json;

constexpr int kDeepest = 64;                         // limit for the depth of arrays and objects
constexpr size_t kMostJsonBytes = size_t{16} << 20;  // parsed JSON takes up to eight times its text

template <class T>
T number_from(const json& value, const std::string& tensor, size_t index) {
  const auto fail = [&] {
    refuse(400, "input '", tensor, "': element ", index, " is ", value.dump().substr(0, 40), ", which is not a ",
           datatype_name(std::is_same_v<T, float>    ? DType::f32
                         : std::is_same_v<T, double> ? DType::f64
                                                     : DType::undefined),
           std::is_floating_point_v<T> ? "" : "whole number of its type");
  };
  if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) fail();
    const double wide = value.get<double>();
    if (std::abs(wide) > static_cast<double>(std::numeric_limits<T>::max())) fail();
    return static_cast<T>(wide);
  } else {
    if (!value.is_number_integer()) fail();
    if (value.is_number_unsigned()) {
      const auto wide = value.get<uint64_t>();
      if (wide > static_cast<uint64_t>(std::numeric_limits<T>::max())) fail();
      return static_cast<T>(wide);
    }
    const auto wide = value.get<int64_t>();
    if (std::is_unsigned_v<T> || wide < static_cast<int64_t>(std::numeric_limits<T>::min())) fail();
    return static_cast<T>(wide);
  }
}

template <class T, class Read>
void append_all(const json& data, std::vector<uint8_t>& out, const Read& read) {
  if (!data.is_array()) {
    const T value = read(data, out.size() / sizeof(T));
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof(T));
    return;
  }
  for (const json& inner : data) append_all<T>(inner, out, read);  // parse_json limits the depth
}

bool boolean_from(const json& value, const std::string& tensor, size_t index) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned() && value.get<uint64_t>() <= 1) return value.get<uint64_t>() == 1;
  refuse(400, "input '", tensor, "': element ", index, " is not a BOOL");
}

template <class T>
std::vector<uint8_t> numbers_from(const json& data, size_t count, const std::string& tensor) {
  std::vector<uint8_t> out;
  out.reserve(std::min(count, kMostJsonBytes) * sizeof(T));
  append_all<T>(data, out, [&](const json& value, size_t index) {
    if constexpr (std::is_same_v<T, bool>)
      return boolean_from(value, tensor, index);
    else
      return number_from<T>(value, tensor, index);
  });
  if (out.size() != count * sizeof(T))
    refuse(400, "input '", tensor, "' has ", out.size() / sizeof(T), " elements; its shape needs ", count);
  return out;
}

template <class T>
void append_numbers(std::string& out, const gart::TensorView& tensor, const std::string& name) {
  char text[40];
  const std::span<const T> elements = tensor.elements<T>();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) out += ',';
    if constexpr (std::is_same_v<T, bool>) {
      out += elements[i] ? "true" : "false";
    } else {
      if constexpr (std::is_floating_point_v<T>)
        if (!std::isfinite(elements[i]))
          refuse(400, "output '", name, "': element ", i,
                 " is infinite or not a number, which JSON cannot hold; ask for binary_data");
      out.append(text, std::to_chars(text, text + sizeof text, elements[i]).ptr);
    }
  }
}

/// Calls `action` with a null pointer of the type of the elements. False for types that JSON does not hold.
template <class Action>
bool with_type(DType dtype, const Action& action) {
  switch (dtype) {
    case DType::boolean:
      return action(static_cast<bool*>(nullptr)), true;
    case DType::u8:
      return action(static_cast<uint8_t*>(nullptr)), true;
    case DType::u16:
      return action(static_cast<uint16_t*>(nullptr)), true;
    case DType::u32:
      return action(static_cast<uint32_t*>(nullptr)), true;
    case DType::u64:
      return action(static_cast<uint64_t*>(nullptr)), true;
    case DType::i8:
      return action(static_cast<int8_t*>(nullptr)), true;
    case DType::i16:
      return action(static_cast<int16_t*>(nullptr)), true;
    case DType::i32:
      return action(static_cast<int32_t*>(nullptr)), true;
    case DType::i64:
      return action(static_cast<int64_t*>(nullptr)), true;
    case DType::f32:
      return action(static_cast<float*>(nullptr)), true;
    case DType::f64:
      return action(static_cast<double*>(nullptr)), true;
    default:
      return false;
  }
}

}  // namespace

std::vector<uint8_t> elements_from_json(const json& data, DType dtype, int64_t count, const std::string& tensor) {
  std::vector<uint8_t> out;
  const bool is_known =
      with_type(dtype, [&]<class T>(T*) { out = numbers_from<T>(data, static_cast<size_t>(count), tensor); });
  if (!is_known) refuse(400, "input '", tensor, "': JSON has no ", datatype_name(dtype), "; send binary data");
  return out;
}

void append_elements(std::string& json, const gart::TensorView& tensor, const std::string& name) {
  json += '[';
  if (!with_type(tensor.dtype, [&]<class T>(T*) { append_numbers<T>(json, tensor, name); }))
    refuse(400, "output '", name, "': JSON has no ", datatype_name(tensor.dtype), "; ask for binary_data");
  json += ']';
}

json parse_json(std::string_view text) {
  if (text.size() > kMostJsonBytes)
    refuse(413, "the JSON has ", text.size(), " bytes; at most ", kMostJsonBytes, " are read: send binary data");
  if (const size_t at = text.find('\0'); at != std::string_view::npos)  // the parser would take NUL for the end of the
                                                                        // text
    refuse(400, "the request is not JSON: byte ", at + 1, " is not expected");
  int depth = 0;
  bool is_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_text) {
      i += c == '\\' ? 1 : 0;
      is_text = c != '"';
    } else if (c == '"') {
      is_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) refuse(400, "the JSON is nested deeper than ", kDeepest, " levels");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    refuse(400, "the request is not JSON: byte ", error.byte, " is not expected");
  }
}

std::string in_quotes(std::string_view text) { return json(text).dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace gcg::serve
