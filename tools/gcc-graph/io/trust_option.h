// --trusted-key and --signature: load only artifacts that the owner of a key has signed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace gcg::tools {

class TrustOption {
 public:
  void add_to(CLI::App& command);
  /// Only --trusted-key, for commands whose signatures are in a store. `names`: of the option.
  void add_keys_to(CLI::App& command, const std::string& names = "--trusted-key");

  bool is_given() const { return !keys_.empty(); }
  bool has_signature() const { return !signature_.empty() || !stored_.empty(); }
  const std::vector<std::string>& key_files() const { return keys_; }
  /// True if keys are given, but no signature yet.
  bool needs_signature() const { return is_given() && !has_signature(); }
  /// The signature that a store keeps with the artifact. --signature takes precedence.
  void use_stored(std::vector<uint8_t> signature) { stored_ = std::move(signature); }

  /// The contents of the files, for LoadOptions.trusted_keys and .signature.
  struct Read {
    std::vector<std::vector<uint8_t>> files;
    std::vector<std::string_view> keys;  // views of `files`
    std::vector<uint8_t> signature;      // empty: the file beside the artifact
  };
  /// Throws Error if a file cannot be read.
  Read read() const;

 private:
  std::vector<std::string> keys_;
  std::string signature_;
  std::vector<uint8_t> stored_;
};

}  // namespace gcg::tools
