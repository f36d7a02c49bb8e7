// Content hashes of texts and files.
#pragma once

#include <string>
#include <string_view>

namespace gcg::cuda {

/// 128 bits (XXH3) as 32 hexadecimal digits.
std::string hash_text(std::string_view text);

}  // namespace gcg::cuda
