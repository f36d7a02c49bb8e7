#include "tools/gcc-graph/io/signature.h"

#include <openssl/evp.h>

#include <memory>

#include "tools/gcc-graph/io/key_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

KeyPtr read_key(const std::string& path, KeyHalf half) { return read_key(path, half, "ED25519", {}, "Ed25519"); }

Context new_context() {
  Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!context) throw std::bad_alloc();
  return context;
}

}  // namespace

std::vector<uint8_t> signature_of(std::span<const uint8_t> bytes, const std::string& key_path) {
  const KeyPtr key = read_key(key_path, KeyHalf::private_key);
  const Context context = new_context();
  std::vector<uint8_t> signature(64);
  size_t size = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, bytes.data(), bytes.size()) != 1)
    fail(key_path, ": OpenSSL cannot sign with this key");
  signature.resize(size);
  return signature;
}

bool is_signed_by(std::span<const uint8_t> bytes, std::span<const uint8_t> signature, const std::string& key_path) {
  const KeyPtr key = read_key(key_path, KeyHalf::public_key);
  const Context context = new_context();
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes.data(), bytes.size()) == 1;
}

}  // namespace gcg::tools
