#include "tools/gcc-graph/io/signature.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using Reader = EVP_PKEY* (*)(FILE*, EVP_PKEY**, pem_password_cb*, void*);

/// Refuses a key with a passphrase, because the program cannot ask the user for it.
int no_passphrase(char*, int, int, void*) { return -1; }

Key read_key(const std::string& path, Reader read, const char* kind) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) fail("cannot read ", path, ": ", std::strerror(errno));
  Key key(read(file.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free);
  if (!key || EVP_PKEY_is_a(key.get(), "ED25519") != 1)
    fail(path, " is not a PEM file with a ", kind, " key of Ed25519");
  return key;
}

Context new_context() {
  Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!context) throw std::bad_alloc();
  return context;
}

}  // namespace

std::vector<uint8_t> signature_of(std::span<const uint8_t> bytes, const std::string& key_path) {
  const Key key = read_key(key_path, PEM_read_PrivateKey, "private");
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
  const Key key = read_key(key_path, PEM_read_PUBKEY, "public");
  const Context context = new_context();
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes.data(), bytes.size()) == 1;
}

}  // namespace gcg::tools
