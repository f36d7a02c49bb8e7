#include "codegen/cuda/text/operator_text.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "codegen/cuda/text/function_text.h"
#include "compiler/kernel/operator_names.h"

namespace gcg::cuda {
namespace {

std::string hexadecimal(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string f32_text(double value) {
  const auto number = static_cast<float>(value);
  if (std::isfinite(number)) {
    const std::string text = hexadecimal("%af", number);
    return std::signbit(number) ? concat("(", text, ")") : text;
  }
  uint32_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return concat("gart_f32_from_bits(", bits, "u)");
}

std::string f64_text(double value) {
  if (std::isfinite(value)) {
    const std::string text = hexadecimal("%a", value);
    return std::signbit(value) ? concat("(", text, ")") : text;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return concat("gart_f64_from_bits(", bits, "ull)");
}

bool has_approximation(UnaryOp op) {
  return op == UnaryOp::exp || op == UnaryOp::erf || op == UnaryOp::tanh || op == UnaryOp::sigmoid;
}

/// True if the operator is a function of the device headers, gart_NAME.
bool is_function(BinaryOp op) {
  return op <= BinaryOp::min || op == BinaryOp::shift_left || op == BinaryOp::shift_right;
}

const char* bit_sign(BinaryOp op) {
  switch (op) {
    case BinaryOp::logical_and:
    case BinaryOp::bit_and:
      return " & ";
    case BinaryOp::logical_or:
    case BinaryOp::bit_or:
      return " | ";
    case BinaryOp::logical_xor:
    case BinaryOp::bit_xor:
      return " ^ ";
    default:
      return "";
  }
}

const char* float_sign(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return " + ";
    case BinaryOp::sub:
      return " - ";
    case BinaryOp::mul:
      return " * ";
    case BinaryOp::div:
      return " / ";
    default:
      return "";
  }
}

void check_arithmetic(DType dtype) {
  GCG_CHECK(dtype != DType::f16 && dtype != DType::bf16, name_of(dtype), " is a storage type: cast it to f32 first");
}

/// x^y for exponents that are common in models; empty for others.
std::string simple_power(DType dtype, const std::string& x, double y) {
  if (y == 1) return x;
  if (y == 2) return concat(x, " * ", x);
  if (y == 3) return concat(x, " * ", x, " * ", x);
  if (y == -1) return concat("gart_reciprocal(", x, ")");
  // pow(-0, 0.5) = +0 and pow(-inf, 0.5) = inf, unlike sqrt
  const std::string zero = dtype == DType::f32 ? "0.0f" : "0.0";
  if (y == 0.5) return concat("(gart_is_inf(", x, ") ? gart_abs(", x, ") : gart_sqrt(", x, " + ", zero, "))");
  return "";
}

std::string float_binary(BinaryOp op, DType dtype, const std::string& a, const std::string& b,
                         const ExprNode* exponent) {
  if (const std::string sign = float_sign(op); !sign.empty()) return a + sign + b;
  if (op == BinaryOp::pow && exponent != nullptr)
    if (const std::string text = simple_power(dtype, a, exponent->number); !text.empty()) return text;
  GCG_CHECK(is_function(op) && op != BinaryOp::floor_div, name_of(op), " on ", name_of(dtype));
  return concat("gart_", name_of(op), "(", a, ", ", b, ")");
}

}  // namespace

std::string constant_text(const ExprNode& constant) {
  switch (constant.dtype) {
    case DType::f32:
      return f32_text(constant.number);
    case DType::f64:
      return f64_text(constant.number);
    case DType::f16:
    case DType::bf16:
      return cast_text(DType::f32, constant.dtype, f32_text(constant.number));
    case DType::boolean:
      return constant.integer != 0 ? "true" : "false";
    case DType::i32:
      return integer_literal(constant.integer);
    case DType::u64:
      return concat(static_cast<uint64_t>(constant.integer), "ull");
    case DType::u32:
      return concat(static_cast<uint32_t>(constant.integer), "u");
    default:
      return concat("(", type_of(constant.dtype), ")", integer_literal(constant.integer));
  }
}

std::string comparison_sign(BinaryOp op) {
  switch (op) {
    case BinaryOp::equal:
      return " == ";
    case BinaryOp::not_equal:
      return " != ";
    case BinaryOp::less:
      return " < ";
    case BinaryOp::less_equal:
      return " <= ";
    case BinaryOp::greater:
      return " > ";
    case BinaryOp::greater_equal:
      return " >= ";
    default:
      return "";
  }
}

std::string unary_text(UnaryOp op, DType dtype, const std::string& a, bool approximates) {
  check_arithmetic(dtype);
  if (approximates && dtype == DType::f32 && has_approximation(op))
    return concat("gart_fast_", name_of(op), "(", a, ")");
  if (op == UnaryOp::logical_not || (op == UnaryOp::bit_not && dtype == DType::boolean)) return concat("!", a);
  if (op == UnaryOp::bit_not) return concat("(", type_of(dtype), ")~", a);
  if (!is_float(dtype)) {
    if (op == UnaryOp::is_nan || op == UnaryOp::is_inf) return "false";
    if (op == UnaryOp::floor || op == UnaryOp::ceil || op == UnaryOp::round_even) return a;
    const bool exact = op == UnaryOp::neg || op == UnaryOp::abs || op == UnaryOp::sign || op == UnaryOp::of_bits;
    GCG_CHECK(exact, name_of(op), " on ", name_of(dtype));
  } else if (op == UnaryOp::neg) {
    return concat("-", a);
  }
  return concat("gart_", name_of(op), "(", a, ")");
}

std::string binary_text(BinaryOp op, DType dtype, const std::string& a, const std::string& b,
                        const ExprNode* exponent) {
  check_arithmetic(dtype);
  if (const std::string sign = comparison_sign(op); !sign.empty()) return a + sign + b;
  if (is_float(dtype)) return float_binary(op, dtype, a, b, exponent);
  if (const std::string sign = bit_sign(op); !sign.empty()) return concat("(", type_of(dtype), ")(", a, sign, b, ")");
  GCG_CHECK(is_function(op), name_of(op), " on ", name_of(dtype));
  return concat("gart_", name_of(op), "(", a, ", ", b, ")");
}

std::string cast_text(DType from, DType to, const std::string& a) {
  if (from == to) return a;
  if (from == DType::f16) return cast_text(DType::f32, to, concat("gart_widen_f16(", a, ")"));
  if (from == DType::bf16) return cast_text(DType::f32, to, concat("gart_widen_bf16(", a, ")"));
  if (to == DType::boolean) return concat("(", a, " != 0)");
  if (to == DType::f16 || to == DType::bf16) {
    // Wide values are rounded to odd first, so that only the second rounding counts. This is exact enough up to 2^53.
    const bool wide = from == DType::f64 || (!is_float(from) && size_of(from) >= 4);
    const std::string single = from == DType::f32 ? a
                               : wide             ? concat("gart_round_to_odd((double)", a, ")")
                                                  : concat("(float)", a);
    return concat(to == DType::f16 ? "gart_narrow_f16(" : "gart_narrow_bf16(", single, ")");
  }
  if (is_float(from) && !is_float(to)) return concat("gart_saturate<", type_of(to), ">(", a, ")");
  return concat("(", type_of(to), ")", a);
}

std::string combine_text(ReduceOp op, DType dtype, const std::string& a, const std::string& b) {
  switch (op) {
    case ReduceOp::sum:
      return binary_text(BinaryOp::add, dtype, a, b, nullptr);
    case ReduceOp::prod:
      return binary_text(BinaryOp::mul, dtype, a, b, nullptr);
    case ReduceOp::max:
      return binary_text(BinaryOp::max, dtype, a, b, nullptr);
    case ReduceOp::min:
      return binary_text(BinaryOp::min, dtype, a, b, nullptr);
    case ReduceOp::logical_and:
      return binary_text(BinaryOp::logical_and, dtype, a, b, nullptr);
    case ReduceOp::logical_or:
      return binary_text(BinaryOp::logical_or, dtype, a, b, nullptr);
  }
  return "";
}

std::string combine_functor(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "gart_op_sum";
    case ReduceOp::prod:
      return "gart_op_prod";
    case ReduceOp::max:
      return "gart_op_max";
    case ReduceOp::min:
      return "gart_op_min";
    case ReduceOp::logical_and:
      return "gart_op_and";
    case ReduceOp::logical_or:
      return "gart_op_or";
  }
  return "";
}

}  // namespace gcg::cuda
