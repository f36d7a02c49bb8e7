// Notes the signature beside an artifact that is written again. The signature covers the earlier bytes, so it is stale
// unless the new bytes are the same.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gcg::tools {

class SignatureWatch {
 public:
  /// Call it before `artifact` is written.
  explicit SignatureWatch(std::string artifact);
  /// After it was written: prints a remark if the file changed and a signature is still beside it. The signature stays,
  /// because loading with trusted keys refuses it, and the user may have a copy of the earlier file.
  void tell() const;

 private:
  using Prologue = std::array<uint8_t, 64>;  // has the digests of all bytes
  Prologue prologue() const;

  std::string artifact_, signature_;
  bool has_signature_;
  Prologue before_;
};

}  // namespace gcg::tools
