// The result of a check: success, or a sentence that says what was wrong.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace gart {

/// A part of a sentence: a string or an integer. It refers to the string, so it must not outlive the call. The
/// constructor writes only the fields that its kind needs, because sentences are most of the callers' code.
class Piece {
 public:
  Piece(const char* text) : text_(text), kind_(Kind::text) {}  // NOLINT: implicit conversions are intended
  Piece(std::string_view s) : text_(s.data()), length_(s.size()), kind_(Kind::characters) {}  // NOLINT
  Piece(const std::string& s) : Piece(std::string_view(s)) {}                                 // NOLINT
  template <std::integral Number>
  Piece(Number number)
      : number_(static_cast<uint64_t>(number)), kind_(number < 0 ? Kind::negative : Kind::positive) {}  // NOLINT
  void append_to(std::string& out) const;

 private:
  enum class Kind : uint8_t { text, characters, positive, negative };
  union {
    const char* text_;
    uint64_t number_;
  };
  size_t length_;  // of characters
  Kind kind_;
};

std::string join(std::initializer_list<Piece> pieces);

/// Concatenates strings and integers: text("buffer ", 3, " of ", 2).
template <class... Parts>
std::string text(const Parts&... parts) {
  return join({Piece(parts)...});
}

/// An empty message means success. Otherwise it is one sentence that names index, value and limit.
struct [[nodiscard]] Status {
  std::string message;
  bool ok() const { return message.empty(); }
};

template <class... Parts>
Status failure(const Parts&... parts) {
  return {join({Piece(parts)...})};
}

}  // namespace gart
