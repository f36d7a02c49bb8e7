#include "tools/gcc-graph/io/artifact_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "artifact_schema/verify.h"
#include "artifact_schema/verify_assembly.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/signature.h"
#include "tools/gcc-graph/io/trust_option.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

gart::Status verify_whole(const gart::ArtifactView& artifact) {
  if (gart::Status status = gart::verify_artifact(artifact); !status.ok()) return status;
  const gart::fb::Assembly* assembly = nullptr;
  return gart::verify_assembly(artifact, assembly);
}

namespace {

/// Each key is read, so that a file that is not a key is refused even if another key has signed.
void require_signed(const std::string& path, std::span<const uint8_t> bytes, const TrustOption& trust) {
  if (!trust.is_given()) return;
  std::vector<uint8_t> signature = trust.read().signature;
  if (signature.empty()) signature = read_file(path + ".sig");
  if (std::ranges::count_if(trust.key_files(), [&](const auto& k) { return is_signed_by(bytes, signature, k); }) == 0)
    fail("cannot load '", path, "': it does not have a signature by a trusted key");
}

}  // namespace

ArtifactFile open_artifact(const std::string& path) { return open_artifact(path, {}); }

ArtifactFile open_artifact(const std::string& path, const TrustOption& trust) {
  if (std::filesystem::is_directory(path)) fail("cannot read ", path, ": it is a folder");
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail("cannot read ", path, ": ", std::strerror(errno));
  const auto size = static_cast<size_t>(file.tellg());
  ArtifactFile out;
  out.storage.resize((size + 7) / 8);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(out.storage.data()), static_cast<std::streamsize>(size));
  if (!file) fail("cannot read ", path);
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(out.storage.data()), size);
  require_signed(path, bytes, trust);
  if (auto status = gart::read_artifact(bytes, out.view); !status.ok()) fail(path, ": ", status.message);
  if (auto status = verify_whole(out.view); !status.ok()) fail(path, ": ", status.message);
  return out;
}

}  // namespace gcg::tools
