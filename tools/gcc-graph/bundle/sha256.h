// SHA-256 of texts and files, in hexadecimal digits.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gcg::tools {

class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  /// 64 digits. Call it once, at the end.
  std::string digits();

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

/// The bytes of hexadecimal digits, two a byte.
std::string bytes_of_digits(std::string_view digits);

/// Reads the file piece by piece, so files may be larger than memory. Throws Error.
std::string sha256_of_file(const std::string& path);

}  // namespace gcg::tools
