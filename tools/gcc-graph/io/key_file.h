// Keys of signatures, from PEM files without a passphrase.
#pragma once

#include <openssl/evp.h>

#include <initializer_list>
#include <memory>
#include <string>

namespace gcg::tools {

using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

enum class KeyHalf { private_key, public_key };

/// `type`: a name of OpenSSL ("ED25519", "EC"). `curves`: the names of the curves of which the key must have one;
/// empty: the type alone decides. `text` names them in the message: "Ed25519". Throws Error unless the file has such
/// a key.
KeyPtr read_key(const std::string& path, KeyHalf half, const char* type, std::initializer_list<const char*> curves,
                const char* text);

}  // namespace gcg::tools
