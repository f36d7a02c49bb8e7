#include <CLI/CLI.hpp>
#include <iostream>

#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/signature.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string artifact, key, signature;

  std::string signature_path() const { return signature.empty() ? artifact + ".sig" : signature; }
  void add_to(CLI::App& c, const char* key_text, const char* signature_text) {
    c.add_option("artifact", artifact, "The .gart file")->required();
    c.add_option("--key", key, key_text)->required();
    c.add_option("--signature", signature, signature_text);
  }
};

/// Verifies the file first, because a signature means that a runtime can load the file.
void sign(const Arguments& a) {
  check_writable(a.signature_path());
  const ArtifactFile artifact = open_artifact(a.artifact);
  write_file(a.signature_path(), signature_of(artifact.view.file, a.key));
}

/// Checks the signature first, so that no other code reads an unsigned file.
void verify(const Arguments& a) {
  const std::vector<uint8_t> bytes = read_file(a.artifact), signature = read_file(a.signature_path());
  if (!is_signed_by(bytes, signature, a.key)) {
    std::cout << a.artifact << ": not signed by " << a.key << '\n';
    throw CLI::RuntimeError(3);
  }
  std::cout << a.artifact << ": signed by " << a.key << '\n';
}

}  // namespace

void add_sign_commands(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("sign", "Sign an artifact by Ed25519, in a file beside it");
  a->add_to(*c, "F.pem: the private key, which openssl genpkey -algorithm ed25519 makes",
            "The file to write (default: the artifact's name with .sig)");
  c->callback([a] { sign(*a); });
  c = app.add_subcommand("verify", "Tell whether the owner of a key has signed an artifact; exit code 3 if not");
  a->add_to(*c, "F.pem: the public key, which openssl pkey -pubout writes",
            "The signature (default: the artifact's name with .sig)");
  c->callback([a] { verify(*a); });
}

}  // namespace gcg::tools
