#include "tools/gcc-graph/bundle/sha256.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <vector>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  if (!context_) throw std::bad_alloc();
  if (EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) fail("OpenSSL has no SHA-256");
}

void Sha256::update(std::string_view bytes) {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) fail("OpenSSL cannot compute SHA-256");
}

std::string Sha256::digits() {
  std::array<uint8_t, 32> digest{};
  if (EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) != 1) fail("OpenSSL cannot compute SHA-256");
  std::string out;
  for (const uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::string bytes_of_digits(std::string_view digits) {
  std::string out;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return out;
}

std::string sha256_of_file(const std::string& path) {
  constexpr size_t kPiece = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(kPiece);
  Sha256 digest;
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(kPiece));
    digest.update({piece.data(), static_cast<size_t>(file.gcount())});
  }
  if (!file.eof()) fail("cannot read ", path, ": ", std::strerror(errno));
  return digest.digits();
}

}  // namespace gcg::tools
