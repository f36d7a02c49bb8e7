// Keys of OpenSSF Model Signing: ECDSA on P-256 with SHA-256, on P-384 with SHA-384, or on P-521 with SHA-512.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/gcc-graph/io/key_file.h"

namespace gcg::tools {

class CurveKey {
 public:
  /// `path`: a PEM file. Throws Error unless it has such a key.
  CurveKey(const std::string& path, KeyHalf half);

  /// The signature in DER. Throws Error.
  std::vector<uint8_t> sign(std::string_view text) const;
  bool has_signed(std::string_view text, std::span<const uint8_t> signature) const;
  /// The key's name in bundles: the SHA-256 of its public half as a PEM file.
  std::string hint() const;

 private:
  const EVP_MD* digest() const;

  std::string path_;
  KeyPtr key_;
};

}  // namespace gcg::tools
