#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "artifact_schema/container.h"
#include "tools/gcc-graph/bundle/bundle.h"
#include "tools/gcc-graph/bundle/signed_files.h"
#include "tools/gcc-graph/bundle/statement.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/signature.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string artifact, key, signature, bundle;

  std::string signature_path() const { return signature.empty() ? artifact + ".sig" : signature; }
  void add_to(CLI::App& c, const char* key_text, const char* signature_text, const char* bundle_text) {
    c.add_option("artifact", artifact, "The .gart file; with --bundle any file, or a folder")->required();
    c.add_option("--key", key, key_text)->required();
    CLI::Option* option = c.add_option("--signature", signature, signature_text);
    c.add_option("--bundle", bundle, bundle_text)->excludes(option);
  }
};

/// Prints why the exit code is 3.
[[noreturn]] void refuse_signature(const std::string& sentence) {
  std::cout << sentence << '\n';
  throw CLI::RuntimeError(3);
}

void check_target(const std::string& path, const Arguments& a) {
  std::error_code error;
  if (fs::equivalent(path, a.artifact, error)) fail("cannot write ", path, ": it is the file to sign");
  check_writable(path);
}

bool is_artifact(const fs::path& path) {
  std::array<uint8_t, gart::kMagic.size()> begin{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(begin.data()), static_cast<std::streamsize>(begin.size()));
  return file && begin == gart::kMagic;
}

/// The signature of an artifact means that a runtime can load it, also in a folder.
void verify_artifacts(const std::string& model, const SignedFiles& files) {
  for (const FileDigest& file : files.files) {
    const fs::path path = file.name == "." ? fs::path(model) : fs::path(model) / file.name;
    if (is_artifact(path)) open_artifact(path);
  }
}

void sign_bundle(const Arguments& a) {
  check_target(a.bundle, a);
  const CurveKey key(a.key, KeyHalf::private_key);
  // model-signing leaves these files out by default, when it signs and when it verifies.
  SignedFiles rules{.ignored = {".git", ".gitattributes", ".github", ".gitignore"}};
  const SignedFiles files = find_files(a.artifact, std::move(rules), a.bundle);
  if (files.files.empty()) fail("there is no file in ", a.artifact);
  verify_artifacts(a.artifact, files);
  const std::string text = bundle_of(statement_of(files), key);
  write_file(a.bundle, {text.begin(), text.end()});
}

void verify_bundle(const Arguments& a) {
  constexpr size_t kMostBytes = size_t{64} << 20;
  const CurveKey key(a.key, KeyHalf::public_key);
  std::error_code error;
  if (const auto size = fs::file_size(a.bundle, error); !error && size > kMostBytes)
    fail(a.bundle, ": it has ", size, " bytes; the limit is ", kMostBytes);
  const std::vector<uint8_t> bytes = read_file(a.bundle);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::optional<std::string> statement = statement_signed_by(key, text, a.bundle);
  if (!statement) refuse_signature(concat(a.artifact, ": not signed by ", a.key));
  const SignedFiles expected = read_statement(*statement, a.bundle + ": the statement");
  const SignedFiles found = find_files(a.artifact, expected, a.bundle);
  const std::string changes = differences(expected.files, found.files);
  if (!changes.empty()) refuse_signature(concat(a.artifact, ": not as ", a.key, " signed it: ", changes));
  std::cout << a.artifact << ": " << (fs::is_directory(a.artifact) ? concat(found.files.size(), " files ") : "")
            << "signed by " << a.key << '\n';
}

/// Verifies the file first, because a signature means that a runtime can load the file.
void sign(const Arguments& a) {
  if (!a.bundle.empty()) return sign_bundle(a);
  check_target(a.signature_path(), a);
  const ArtifactFile artifact = open_artifact(a.artifact);
  write_file(a.signature_path(), signature_of(artifact.view.file, a.key));
}

/// Checks the signature first, so that no other code reads an unsigned file.
void verify(const Arguments& a) {
  if (!a.bundle.empty()) return verify_bundle(a);
  const std::vector<uint8_t> bytes = read_file(a.artifact), signature = read_file(a.signature_path());
  if (!is_signed_by(bytes, signature, a.key)) refuse_signature(concat(a.artifact, ": not signed by ", a.key));
  std::cout << a.artifact << ": signed by " << a.key << '\n';
}

}  // namespace

void add_sign_commands(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("sign", "Sign an artifact, in a file beside it");
  a->add_to(*c,
            "F.pem: the private key, of Ed25519, which openssl genpkey -algorithm ed25519 makes; with --bundle on the "
            "curve P-256, P-384 or P-521",
            "The file to write (default: the artifact's name with .sig)",
            "F: write a bundle of OpenSSF Model Signing instead, which model-signing verifies");
  c->callback([a] { sign(*a); });
  c = app.add_subcommand("verify", "Tell whether the owner of a key has signed an artifact; exit code 3 if not");
  a->add_to(*c, "F.pem: the public key, which openssl pkey -pubout writes",
            "The signature (default: the artifact's name with .sig)",
            "F: verify a bundle of OpenSSF Model Signing, which model-signing sign key writes");
  c->callback([a] { verify(*a); });
}

}  // namespace gcg::tools
