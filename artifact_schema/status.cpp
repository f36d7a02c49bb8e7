#include "artifact_schema/status.h"

namespace gart {

std::string join_list(uint64_t kinds, va_list parts) {
  std::string out;
  for (; kinds != 0; kinds >>= 4) {
    switch (static_cast<SentencePart>(kinds & 15)) {
      case SentencePart::none:
        break;
      case SentencePart::text:
        out += va_arg(parts, const char*);
        break;
      case SentencePart::string:
        out += *va_arg(parts, const std::string*);
        break;
      case SentencePart::view:
        out += *va_arg(parts, const std::string_view*);
        break;
      case SentencePart::whole:
        out += std::to_string(va_arg(parts, int64_t));
        break;
      case SentencePart::natural:
        out += std::to_string(va_arg(parts, uint64_t));
        break;
    }
  }
  return out;
}

std::string join(uint64_t kinds, ...) {
  va_list parts;
  va_start(parts, kinds);
  std::string out = join_list(kinds, parts);
  va_end(parts);
  return out;
}

}  // namespace gart
