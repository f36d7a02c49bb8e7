// Signatures of artifacts by trusted keys: Ed25519 over all bytes of the file. The system's libcrypto verifies them; it
// is opened only when keys are given.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/memory.h"

namespace gart {

struct Trust {
  std::span<const std::string_view> keys;  // LoadOptions.trusted_keys
  std::span<const uint8_t> signature;      // LoadOptions.signature
};

/// These functions copy the artifact to memory that no other process can change, then check the signature of the copy.
/// So the bytes that were checked are the bytes that are used. They return the copy, and throw Failure if no key has
/// signed it. `file`: the artifact at `path`; it is closed.
std::span<const uint8_t> read_trusted(const std::string& path, Mapping& file, Trust trust, Block& copy);
std::span<const uint8_t> copy_trusted(std::span<const uint8_t> artifact, const Trust& trust, Block& copy);

}  // namespace gart
