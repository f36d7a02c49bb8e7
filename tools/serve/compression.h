// Content-Encoding: gzip, and deflate, which is zlib's format.
#pragma once

#include <string>
#include <string_view>

namespace gcg::serve {

/// Throws Refusal: for an unknown encoding, for damaged data, and for more than `limit` bytes of content.
std::string decompressed(std::string_view data, std::string_view encoding, size_t limit);

/// The encoding to answer with, or "", for a value of Accept-Encoding.
std::string_view chosen_encoding(std::string_view accepted);
std::string compressed(std::string_view data, std::string_view encoding);

}  // namespace gcg::serve
