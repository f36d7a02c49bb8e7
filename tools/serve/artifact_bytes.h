// A private copy of an artifact, which no other process can change after its signature was checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/store/store.h"

namespace gcg::serve {

class ArtifactBytes {
 public:
  /// Throws std::exception with a sentence if the file cannot be read.
  explicit ArtifactBytes(const std::string& path);
  std::span<const uint8_t> get() const { return {blocks_.data()->bytes, size_}; }

 private:
  struct alignas(64) Block {  // so that the runtime uses the memory in place
    uint8_t bytes[64];
  };

  std::vector<Block> blocks_;
  size_t size_ = 0;
};

/// The keys of those whose artifacts a server runs. No keys: it runs all artifacts of its store.
struct SignatureCheck {
  std::vector<std::string> keys;  // PEM files
  std::function<bool(std::span<const uint8_t> artifact, std::span<const uint8_t> signature, const std::string& key)>
      is_signed_by;
};

/// A copy of the version's file that one of the keys has signed; null without keys. Throws Refusal.
std::shared_ptr<const ArtifactBytes> trusted_bytes(const gart::store::StoredVersion& version, const std::string& path,
                                                   const SignatureCheck& trust);

}  // namespace gcg::serve
