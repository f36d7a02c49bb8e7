// The format of fb::Kernel.note: the types in which the kernel multiplies and sums, then a text for people. Reports
// read it; the runtime does not.
#pragma once

#include <string>
#include <string_view>

namespace gart {

struct KernelTypes {
  /// The types of the factors, such as "f32", "3xtf32", "bf16", "i4". A kernel without products of two operands has
  /// only `left`, the type of its arithmetic. Empty: not known.
  std::string left, right;
  std::string sums;
  std::string model;  // the widest float type of the source nodes; empty: they have no floats, or are not known
};

struct KernelNote {
  KernelTypes types;
  std::string text;  // "9x48 panels, 2 row heights"
};

constexpr char kNoteSeparator = '|';

inline std::string note_text(const KernelNote& note) {
  std::string out;
  for (const std::string* type : {&note.types.left, &note.types.right, &note.types.sums, &note.types.model})
    (out += *type) += kNoteSeparator;
  return out + note.text;
}

/// A note without types is a text.
inline KernelNote parse_note(std::string_view note) {
  KernelNote out;
  std::string_view rest = note;
  for (std::string* type : {&out.types.left, &out.types.right, &out.types.sums, &out.types.model}) {
    const size_t at = rest.find(kNoteSeparator);
    if (at == std::string_view::npos) return {{}, std::string(note)};
    *type = rest.substr(0, at);
    rest.remove_prefix(at + 1);
  }
  out.text = rest;
  return out;
}

}  // namespace gart
