// Is a text UTF-8?
#pragma once

#include <string_view>

namespace gart {

/// As RFC 3629 has it: no form longer than needed, no surrogate, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace gart
