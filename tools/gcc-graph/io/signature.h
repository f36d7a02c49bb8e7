// Signatures of files by Ed25519 (RFC 8032), in files of 64 bytes beside them. `openssl pkeyutl -rawin` makes and
// verifies the same signatures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gcg::tools {

/// `key`: a PEM file with a private key of Ed25519. Throws Error with one sentence.
std::vector<uint8_t> signature_of(std::span<const uint8_t> bytes, const std::string& key);

/// `key`: a PEM file with a public key of Ed25519. Throws Error if there is no such key.
bool is_signed_by(std::span<const uint8_t> bytes, std::span<const uint8_t> signature, const std::string& key);

}  // namespace gcg::tools
