// Whether a check passed, and if not, the sentence that says what was wrong.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace gart {

/// Empty: fine. Otherwise one sentence that names index, value and limit.
struct [[nodiscard]] Status {
  std::string message;
  bool ok() const { return message.empty(); }
};

namespace detail {
inline void append_text(std::string& out, std::string_view part) { out += part; }
template <std::integral Number>
void append_text(std::string& out, Number number) {
  out += std::to_string(number);
}
}  // namespace detail

/// Strings and integers one after the other: text("buffer ", 3, " of ", 2).
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (detail::append_text(out, parts), ...);
  return out;
}

template <class... Parts>
Status failure(const Parts&... parts) {
  return {text(parts...)};
}

}  // namespace gart
