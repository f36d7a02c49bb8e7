#include "tools/gcc-graph/io/printable.h"

#include <cstdio>

namespace gcg::tools {

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    const bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    const bool high_control = c == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009F as UTF-8
    if (!control && !high_control) {
      out += static_cast<char>(c);
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", (high_control ? next : c) & 0xffU);
    out += escaped;
    i += high_control;
  }
  return out;
}

std::streambuf::int_type PrintableStream::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char character = traits_type::to_char_type(c);
  return xsputn(&character, 1) == 1 ? c : traits_type::eof();
}

std::streamsize PrintableStream::xsputn(const char* text, std::streamsize count) {
  const std::string safe = printable({text, static_cast<size_t>(count)});
  const auto size = static_cast<std::streamsize>(safe.size());
  return target_->sputn(safe.data(), size) == size ? count : 0;
}

}  // namespace gcg::tools
