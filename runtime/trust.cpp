#include "runtime/trust.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>

#include "runtime/errors.h"

namespace gart {
namespace {

/// The functions of libcrypto that this file calls, with the signatures of OpenSSL 1.1.1 and later.
struct Libcrypto {
  int (*decode_base64)(uint8_t* to, const char* from, int count);
  void* (*new_key)(int type, void* engine, const uint8_t* bytes, size_t count);
  void (*free_key)(void* key);
  void* (*new_context)();
  void (*free_context)(void* context);
  int (*begin_verify)(void* context, void** key_context, const void* digest, void* engine, void* key);
  int (*verify)(void* context, const uint8_t* signature, size_t size, const uint8_t* data, size_t count);
};

/// In the order of the members.
constexpr const char kNames[] =
    "EVP_DecodeBlock\0EVP_PKEY_new_raw_public_key\0EVP_PKEY_free\0EVP_MD_CTX_new\0EVP_MD_CTX_free\0"
    "EVP_DigestVerifyInit\0EVP_DigestVerify\0";

Libcrypto open_libcrypto() {
  void* library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libcrypto.so.1.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    fail(ErrorCode::unsupported,
         "trusted keys need libcrypto.so.3 or libcrypto.so.1.1 of OpenSSL, which cannot be loaded: ", dlerror());
  void* functions[sizeof(Libcrypto) / sizeof(void*)];
  const char* name = kNames;
  for (void*& function : functions) {
    function = dlsym(library, name);
    if (function == nullptr) fail(ErrorCode::unsupported, "trusted keys need ", name, ", which libcrypto lacks");
    name += std::strlen(name) + 1;
  }
  Libcrypto crypto;
  std::memcpy(&crypto, functions, sizeof crypto);
  return crypto;
}

/// `text`: a PEM file. The structure of a public key of Ed25519 has 44 bytes, of which the first 12 are the same in
/// every key. In Base64 it is one line of 60 characters.
void* read_key(const Libcrypto& crypto, std::string_view text) {
  constexpr std::string_view kBegin = "MCowBQYDK2VwAyEA";
  constexpr int kLine = 60, kPrefixBytes = 12, kDecodedBytes = kLine / 4 * 3, kEd25519 = 1087;
  uint8_t bytes[kDecodedBytes];
  const size_t at = text.find(kBegin);
  if (at == std::string_view::npos || text.size() - at < kLine || text[at + kLine - 1] != '=' ||
      crypto.decode_base64(bytes, text.data() + at, kLine) != kDecodedBytes)
    return nullptr;
  return crypto.new_key(kEd25519, nullptr, bytes + kPrefixBytes, 32);
}

/// True if `key` has signed the artifact.
bool has_signed(const Libcrypto& crypto, void* key, std::span<const uint8_t> artifact,
                std::span<const uint8_t> signature) {
  void* context = crypto.new_context();
  const bool signs = context != nullptr && crypto.begin_verify(context, nullptr, nullptr, nullptr, key) == 1 &&
                     crypto.verify(context, signature.data(), signature.size(), artifact.data(), artifact.size()) == 1;
  crypto.free_context(context);
  return signs;
}

void require_signed(std::span<const uint8_t> artifact, const Trust& trust) {
  const Libcrypto crypto = open_libcrypto();
  bool is_signed = false;
  size_t number = 0;
  for (const std::string_view text : trust.keys) {
    ++number;
    void* key = read_key(crypto, text);
    if (key == nullptr)
      fail(ErrorCode::invalid_argument, "trusted key ", number,
           " is not the text of a PEM file with a public key of Ed25519");
    is_signed = is_signed || has_signed(crypto, key, artifact, trust.signature);
    crypto.free_key(key);
  }
  if (!is_signed) fail(ErrorCode::untrusted, "it does not have a signature by a trusted key");
}

/// Reads a file into memory that later changes of the file do not reach, unlike those of a mapping.
std::span<const uint8_t> read(const Mapping& file, Block& to) {
  const size_t size = file.bytes().size();
  to.reserve(size);
  for (size_t done = 0; done < size;) {
    const ssize_t count = pread(file.file(), to.data() + done, size - done, static_cast<off_t>(done));
    if (count <= 0) fail(ErrorCode::io, "it was cut to ", done, " bytes while it was read");
    done += static_cast<size_t>(count);
  }
  return {to.data(), size};
}

}  // namespace

std::span<const uint8_t> read_trusted(const std::string& path, Mapping& file, Trust trust, Block& copy) {
  Block signature;
  if (trust.signature.empty()) trust.signature = read(Mapping::of_file(path + ".sig"), signature);
  const std::span<const uint8_t> artifact = read(file, copy);
  file = Mapping();
  require_signed(artifact, trust);
  return artifact;
}

std::span<const uint8_t> copy_trusted(std::span<const uint8_t> artifact, const Trust& trust, Block& copy) {
  copy.reserve(artifact.size());
  if (!artifact.empty()) std::memcpy(copy.data(), artifact.data(), artifact.size());
  artifact = {copy.data(), artifact.size()};
  require_signed(artifact, trust);
  return artifact;
}

}  // namespace gart
