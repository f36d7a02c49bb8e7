#include "tools/gcc-graph/bundle/curve_key.h"

#include <openssl/bio.h>
#include <openssl/pem.h>

#include <new>

#include "tools/gcc-graph/bundle/sha256.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

Context new_context() {
  Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!context) throw std::bad_alloc();
  return context;
}

const uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

}  // namespace

CurveKey::CurveKey(const std::string& path, KeyHalf half)
    : path_(path),
      key_(read_key(path, half, "EC", {"prime256v1", "secp384r1", "secp521r1"}, "P-256, P-384 or P-521")) {}

const EVP_MD* CurveKey::digest() const {
  const int bits = EVP_PKEY_get_bits(key_.get());
  return bits == 256 ? EVP_sha256() : bits == 384 ? EVP_sha384() : EVP_sha512();
}

std::vector<uint8_t> CurveKey::sign(std::string_view text) const {
  const Context context = new_context();
  size_t size = static_cast<size_t>(EVP_PKEY_get_size(key_.get()));  // the longest; DER drops leading zeros
  std::vector<uint8_t> signature(size);
  if (EVP_DigestSignInit(context.get(), nullptr, digest(), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, bytes_of(text), text.size()) != 1)
    fail(path_, ": OpenSSL cannot sign with this key");
  signature.resize(size);
  return signature;
}

bool CurveKey::has_signed(std::string_view text, std::span<const uint8_t> signature) const {
  const Context context = new_context();
  return EVP_DigestVerifyInit(context.get(), nullptr, digest(), nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes_of(text), text.size()) == 1;
}

std::string CurveKey::hint() const {
  const std::unique_ptr<BIO, int (*)(BIO*)> memory(BIO_new(BIO_s_mem()), BIO_free);
  char* text = nullptr;
  if (!memory || PEM_write_bio_PUBKEY(memory.get(), key_.get()) != 1) fail(path_, ": OpenSSL cannot write this key");
  const long size = BIO_get_mem_data(memory.get(), &text);
  Sha256 digest;
  digest.update({text, static_cast<size_t>(size)});
  return digest.digits();
}

}  // namespace gcg::tools
