#include "tools/serve/artifact_bytes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tools/serve/refusal.h"
#include "tools/store/files.h"
#include "tools/store/signature_bytes.h"

namespace gcg::serve {
/// Reads the file without mapping it: a mapping of a file that is cut off meanwhile would end the process.
ArtifactBytes::ArtifactBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  size_ = std::filesystem::file_size(path, error);
  if (!file || error) refuse(500, "cannot read ", path);
  blocks_.resize(size_ / sizeof(Block) + 1);
  file.read(reinterpret_cast<char*>(blocks_.data()), static_cast<std::streamsize>(size_));
  if (file.gcount() != static_cast<std::streamsize>(size_)) refuse(500, "cannot read ", path);
}

std::shared_ptr<const ArtifactBytes> trusted_bytes(const gart::store::StoredVersion& version, const std::string& path,
                                                   const SignatureCheck& trust) {
  if (trust.keys.empty()) return nullptr;
  const std::string name = "the model '" + version.id + "@" + std::to_string(version.version) + "' ";
  if (version.signature.empty())
    refuse(403, name, "has no signature: this server runs only models that a key of --trusted-key has signed");
  auto bytes = std::make_shared<ArtifactBytes>(path);
  const std::vector<uint8_t> signature = gart::store::signature_bytes(version);
  const auto has_signed = [&](const std::string& key) { return trust.is_signed_by(bytes->get(), signature, key); };
  if (std::ranges::none_of(trust.keys, has_signed))
    refuse(403, name, "is not signed by a key of --trusted-key: the file, its signature or the key is another one");
  return bytes;
}

}  // namespace gcg::serve
