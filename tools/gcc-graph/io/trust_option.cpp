#include "tools/gcc-graph/io/trust_option.h"

#include <CLI/CLI.hpp>

#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

void TrustOption::add_keys_to(CLI::App& command, const std::string& names) {
  command
      .add_option(names, keys_,
                  "F.pem: refuse each artifact that neither this public key of Ed25519, nor another one given, has "
                  "signed; once per key")
      ->allow_extra_args(false);
}

void TrustOption::add_to(CLI::App& command) {
  add_keys_to(command);
  command
      .add_option("--signature", signature_,
                  "The signature that --trusted-key needs (default: the artifact's name with .sig)")
      ->needs(command.get_option("--trusted-key"));
}

TrustOption::Read TrustOption::read() const {
  Read read;
  for (const std::string& path : keys_) read.files.push_back(read_file(path));
  for (const std::vector<uint8_t>& file : read.files)
    read.keys.emplace_back(reinterpret_cast<const char*>(file.data()), file.size());
  if (signature_.empty()) {
    read.signature = stored_;
    return read;
  }
  constexpr size_t kSignatureBytes = 64;
  read.signature = read_file(signature_);
  if (read.signature.size() != kSignatureBytes)
    fail("--signature ", signature_, ": it has ", read.signature.size(), " bytes, expected ", kSignatureBytes);
  return read;
}

}  // namespace gcg::tools
