// Whether a check passed, and if not, the sentence that says what was wrong.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace gart {

/// A part of a sentence: a string or an integer. Refers to the string, so it lives no longer than the call.
class Piece {
 public:
  Piece(std::string_view string) : string_(string) {}    // NOLINT: made implicitly from what it is
  Piece(const std::string& string) : string_(string) {}  // NOLINT
  Piece(const char* string) : string_(string) {}         // NOLINT
  template <std::integral Number>
  Piece(Number number)
      : number_(static_cast<uint64_t>(number)), kind_(number < 0 ? Kind::negative : Kind::positive) {}  // NOLINT
  void append_to(std::string& out) const;

 private:
  enum class Kind : uint8_t { string, positive, negative };
  std::string_view string_;
  uint64_t number_ = 0;
  Kind kind_ = Kind::string;
};

std::string join(std::initializer_list<Piece> pieces);

/// Strings and integers one after the other: text("buffer ", 3, " of ", 2).
template <class... Parts>
std::string text(const Parts&... parts) {
  return join({Piece(parts)...});
}

/// Empty: fine. Otherwise one sentence that names index, value and limit.
struct [[nodiscard]] Status {
  std::string message;
  bool ok() const { return message.empty(); }
};

template <class... Parts>
Status failure(const Parts&... parts) {
  return {join({Piece(parts)...})};
}

}  // namespace gart
