// Tensor data in the text form.
#include <charconv>
#include <cmath>
#include <cstring>

#include "compiler/ir/gir_scanner.h"

namespace gcg::gir {
namespace {

constexpr int64_t kMaxListed = 64;  // longer tensors are written as hex
constexpr int64_t kMaxShown = 16;   // longer tensors are shortened if the text elides data

template <class T>
std::string shortest(T value) {
  char buffer[64];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, r.ptr);
}

std::string element(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::f64:
      return shortest(t.at_double(i));
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      return shortest(static_cast<float>(t.at_double(i)));
    case DType::u64:
      return shortest(static_cast<uint64_t>(t.at_int(i)));
    default:
      return shortest(t.at_int(i));
  }
}

bool has_nan(const Tensor& t) {
  if (!is_float(t.dtype())) return false;
  for (int64_t i = 0; i < t.elements(); ++i)
    if (std::isnan(t.at_double(i))) return true;
  return false;
}

std::string hex(const Tensor& t) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "hex(";
  for (int64_t i = 0; i < t.bytes(); ++i) {
    out += kDigits[t.data()[i] >> 4];
    out += kDigits[t.data()[i] & 15];
  }
  return out + ")";
}

int hex_digit(Scanner& in, char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  in.fail("hex data has other characters than 0-9a-f");
}

uint64_t next_random(uint64_t& state) {  // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void fill_random(Tensor& t, int64_t seed) {
  auto state = static_cast<uint64_t>(seed);
  for (int64_t i = 0; i < t.elements(); ++i) {
    const uint64_t bits = next_random(state);
    if (is_float(t.dtype()))
      t.set_double(i, static_cast<double>(bits >> 40) / (1 << 23) - 1);
    else if (t.dtype() == DType::boolean)
      t.set_int(i, static_cast<int64_t>(bits & 1));
    else
      t.set_int(i, static_cast<int64_t>(bits & 15) - (is_signed_int(t.dtype()) ? 8 : 0));
  }
}

void set_element(Tensor& t, int64_t i, const Scanner::Number& n) {
  if (is_float(t.dtype()))
    t.set_double(i, n.real);
  else
    t.set_int(i, n.integer);
}

void parse_hex(Scanner& in, Tensor& t) {
  in.expect('(');
  const std::string digits = t.bytes() == 0 ? "" : in.word("hex digits");
  if (static_cast<int64_t>(digits.size()) != 2 * t.bytes())
    in.fail(concat("hex data of ", digits.size(), " digits for ", t.bytes(), " bytes"));
  for (int64_t i = 0; i < t.bytes(); ++i) {
    const auto at = static_cast<size_t>(2 * i);
    t.mutable_data()[i] = static_cast<uint8_t>(hex_digit(in, digits[at]) * 16 + hex_digit(in, digits[at + 1]));
  }
  in.expect(')');
}

}  // namespace

std::string print_double(double value) {
  std::string out = shortest(value);
  return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;  // "inf" and "nan" contain an n
}

std::string print_data(const Tensor& t, bool elide) {
  if (elide && t.elements() > kMaxShown) return "...";
  if (t.elements() > kMaxListed || has_nan(t)) return hex(t);
  std::string out = "{";
  for (int64_t i = 0; i < t.elements(); ++i) {
    if (i != 0) out += ", ";
    out += element(t, i);
  }
  return out + "}";
}

Tensor parse_data(Scanner& in, DType dtype, const std::vector<int64_t>& shape) {
  Tensor t(dtype, shape);
  if (in.take_text("hex")) {
    parse_hex(in, t);
  } else if (in.take_text("random")) {
    in.expect('(');
    fill_random(t, in.integer());
    in.expect(')');
  } else if (in.take_text("fill")) {
    in.expect('(');
    const Scanner::Number n = in.number();
    for (int64_t i = 0; i < t.elements(); ++i) set_element(t, i, n);
    in.expect(')');
  } else if (in.take_text("...")) {
    in.fail("the data of this constant was left out when the graph was printed");
  } else {
    in.expect('{');
    for (int64_t i = 0; i < t.elements(); ++i) {
      if (i != 0) in.expect(',');
      const Scanner::Number n = in.number();
      if (n.is_float && !is_float(dtype)) in.fail("an element of an integer tensor has a fraction");
      set_element(t, i, n);
    }
    in.expect('}');
  }
  return t;
}

}  // namespace gcg::gir
