#include "compiler/ops/declared_types.h"

#include "compiler/support/error.h"

namespace gcg {
namespace {

struct Row {
  const char *name, *phrase;
  bool (*has)(DType);  // null: the set is the type of an input
};

bool is_number(DType t) { return is_float(t) || is_int(t); }
bool is_signed_number(DType t) { return is_float(t) || is_signed_int(t); }
bool is_boolean(DType t) { return t == DType::boolean; }
bool is_byte(DType t) { return is_int(t) && size_of(t) == 1; }
bool is_quantized(DType t) {
  return is_small_float(t) || small_int_bits(t) > 0 || (is_int(t) && size_of(t) <= 2) || t == DType::i32;
}
bool is_rounded(DType t) { return is_quantized(t) && t != DType::i32; }
bool is_to_quantize(DType t) { return is_float(t) || t == DType::i32; }

template <DType kType>
bool is_only(DType t) {
  return t == kType;
}

// In the order of Types.
constexpr Row kRows[] = {
    {"any", "any type", [](DType) { return true; }},
    {"floats", "a float type", is_float},
    {"numbers", "a numeric type", is_number},
    {"numbers and bool", "a numeric type or bool", [](DType t) { return is_number(t) || is_boolean(t); }},
    {"signed numbers", "a float or signed integer type", is_signed_number},
    {"integers", "an integer type", is_int},
    {"unsigned integers", "an unsigned integer type", is_unsigned_int},
    {"bool", "bool", is_boolean},
    {"bytes", "i8 or u8", is_byte},
    {"quantized", "an integer type of up to 32 bits, or a float type of up to 8", is_quantized},
    {"rounded", "an integer type of up to 16 bits, or a float type of up to 8", is_rounded},
    {"to quantize", "a float type or i32", is_to_quantize},
    {"f32", "f32", is_only<DType::f32>},
    {"i32", "i32", is_only<DType::i32>},
    {"i64", "i64", is_only<DType::i64>},
    {"u8", "u8", is_only<DType::u8>},
    {"as the first", "that of input 0", nullptr},
    {"as the second", "that of input 1", nullptr},
    {"as the third", "that of input 2", nullptr},
};

const Row& row(Types types) { return kRows[static_cast<size_t>(types)]; }

}  // namespace

std::optional<int> model_of(Types types) {
  if (row(types).has != nullptr) return std::nullopt;
  return static_cast<int>(types) - static_cast<int>(Types::as_first);
}

bool is_one_of(DType t, Types types) {
  GCG_CHECK(row(types).has != nullptr, name_of(types), " is not a set of types");
  return row(types).has(t);
}

const char* phrase_of(Types types) { return row(types).phrase; }
const char* name_of(Types types) { return row(types).name; }

}  // namespace gcg
