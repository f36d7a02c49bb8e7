// Checks whether a text is UTF-8.
#pragma once

#include <string_view>

namespace gart {

/// Follows RFC 3629: no overlong form, no surrogate, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace gart
