// --trusted-key and --signature: load only an artifact that the owner of a key has signed.
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

  /// The contents of the files, for LoadOptions.trusted_keys and .signature.
  struct Read {
    std::vector<std::vector<uint8_t>> files;
    std::vector<std::string_view> keys;  // views of `files`
    std::vector<uint8_t> signature;
  };
  /// Throws Error if a file cannot be read.
  Read read() const;

 private:
  std::vector<std::string> keys_;
  std::string signature_;
};

}  // namespace gcg::tools
