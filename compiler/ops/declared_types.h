// The element types that the inputs and the results of an operator may have.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "compiler/ir/dtype.h"

namespace gcg {

/// A set of element types, or the type of an input.
enum class Types : uint8_t {
  any,
  floats,
  numbers,  // floats, and integers of at least 8 bits
  numbers_and_bool,
  signed_numbers,
  integers,  // integers of at least 8 bits
  unsigned_integers,
  booleans,
  bytes,        // i8, u8
  quantized,    // types that represent numbers with a scale: integers of up to 32 bits, and floats of up to 8 bits
  rounded,      // target types of quantization: integers of up to 16 bits, and floats of up to 8 bits
  to_quantize,  // floats and i32
  f32,
  i32,
  i64,
  u8,
  as_first,   // the type of input 0
  as_second,  // the type of input 1
  as_third,   // the type of input 2
};

/// Types per input (or result); the last entry also applies to all that follow.
class DeclaredTypes {
 public:
  constexpr DeclaredTypes() = default;  // any
  constexpr DeclaredTypes(std::initializer_list<Types> types) {
    count_ = 0;
    for (const Types t : types) types_.at(static_cast<size_t>(count_++)) = t;
  }
  constexpr int count() const { return count_; }
  constexpr Types of(int input) const { return types_[static_cast<size_t>(input < count_ ? input : count_ - 1)]; }

 private:
  std::array<Types, 12> types_{};
  int count_ = 1;
};

/// The input with the same type; nullopt for a set of types.
std::optional<int> model_of(Types types);
/// Requires: `types` is a set.
bool is_one_of(DType type, Types types);
/// "a float type", "bool"; for as_first and the like "that of input 0".
const char* phrase_of(Types types);
/// For a table: "floats", "as the first".
const char* name_of(Types types);

}  // namespace gcg
