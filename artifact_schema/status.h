// The result of a check: success, or a sentence that says what is wrong.
#pragma once

#include <concepts>
#include <cstdarg>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace gart {

/// The type of an argument of join(), which is one part of a sentence. Variadic arguments cost a caller one instruction
/// each, and sentences are most of the callers' code.
enum class SentencePart : uint8_t { none, text, string, view, whole, natural };

namespace detail {

inline const char* passed(const char* part) { return part; }
inline const std::string* passed(const std::string& part) { return &part; }
inline const std::string_view* passed(const std::string_view& part) { return &part; }
template <std::signed_integral T>
int64_t passed(T part) {
  return part;
}
template <std::unsigned_integral T>
uint64_t passed(T part) {
  return part;
}

template <class T>
constexpr uint64_t kind_of() {
  using Passed = decltype(passed(std::declval<const T&>()));
  SentencePart part = SentencePart::text;
  if (std::is_same_v<Passed, const std::string*>) part = SentencePart::string;
  if (std::is_same_v<Passed, const std::string_view*>) part = SentencePart::view;
  if (std::is_same_v<Passed, int64_t>) part = SentencePart::whole;
  if (std::is_same_v<Passed, uint64_t>) part = SentencePart::natural;
  return uint64_t(part);
}

/// The kinds of the parts, four bits each, the first part in the lowest.
template <class... Parts>
constexpr uint64_t kinds_of() {
  static_assert(sizeof...(Parts) <= 16, "a sentence has at most 16 parts");
  uint64_t kinds = 0;
  unsigned shift = 0;
  ((kinds |= kind_of<Parts>() << shift, shift += 4), ...);
  return kinds;
}

}  // namespace detail

/// Concatenates the parts that follow: const char*, const std::string*, const std::string_view*, int64_t, uint64_t.
std::string join(uint64_t kinds, ...);
std::string join_list(uint64_t kinds, va_list parts);

/// Concatenates strings and integers: text("buffer ", 3, " of ", 2).
template <class... Parts>
std::string text(const Parts&... parts) {
  return join(detail::kinds_of<Parts...>(), detail::passed(parts)...);
}

/// An empty message means success. Otherwise it is one sentence that names index, value and limit.
struct [[nodiscard]] Status {
  std::string message;
  bool ok() const { return message.empty(); }
};

template <class... Parts>
Status failure(const Parts&... parts) {
  return {join(detail::kinds_of<Parts...>(), detail::passed(parts)...)};
}

}  // namespace gart
