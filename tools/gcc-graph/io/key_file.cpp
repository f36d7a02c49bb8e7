#include "tools/gcc-graph/io/key_file.h"

#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

/// Refuses a key with a passphrase, because the program cannot ask the user for it.
int no_passphrase(char*, int, int, void*) { return -1; }

bool is_on_one_of(const EVP_PKEY* key, std::initializer_list<const char*> curves) {
  std::array<char, 64> name{};
  size_t length = 0;
  return EVP_PKEY_get_group_name(key, name.data(), name.size(), &length) == 1 &&
         std::ranges::any_of(curves, [&](const char* curve) { return std::strcmp(curve, name.data()) == 0; });
}

}  // namespace

KeyPtr read_key(const std::string& path, KeyHalf half, const char* type, std::initializer_list<const char*> curves,
                const char* text) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) fail("cannot read ", path, ": ", std::strerror(errno));
  const bool is_private = half == KeyHalf::private_key;
  KeyPtr key((is_private ? PEM_read_PrivateKey : PEM_read_PUBKEY)(file.get(), nullptr, no_passphrase, nullptr),
             EVP_PKEY_free);
  if (!key || EVP_PKEY_is_a(key.get(), type) != 1 || (curves.size() > 0 && !is_on_one_of(key.get(), curves)))
    fail(path, " is not a PEM file with a ", is_private ? "private" : "public", " key of ", text);
  return key;
}

}  // namespace gcg::tools
