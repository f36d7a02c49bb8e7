#include "tools/gcc-graph/io/artifact_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "artifact_schema/verify.h"
#include "artifact_schema/verify_assembly.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

gart::Status verify_whole(const gart::ArtifactView& artifact) {
  if (gart::Status status = gart::verify_artifact(artifact); !status.ok()) return status;
  const gart::fb::Assembly* assembly = nullptr;
  return gart::verify_assembly(artifact, assembly);
}

ArtifactFile open_artifact(const std::string& path) {
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
  if (auto status = gart::read_artifact(bytes, out.view); !status.ok()) fail(path, ": ", status.message);
  if (auto status = verify_whole(out.view); !status.ok()) fail(path, ": ", status.message);
  return out;
}

}  // namespace gcg::tools
