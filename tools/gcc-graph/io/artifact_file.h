// Opens an artifact for inspection, without a runtime.
#pragma once

#include <string>
#include <vector>

#include "artifact_schema/reader.h"
#include "artifact_schema/status.h"

namespace gcg::tools {

class TrustOption;

struct ArtifactFile {
  std::vector<uint64_t> storage;  // the file's bytes, 8-byte aligned
  gart::ArtifactView view;
};

/// Fails unless every index in the manifest and the assembly is valid.
gart::Status verify_whole(const gart::ArtifactView& artifact);

/// Reads and verifies digests and indices. Throws Error that names the file and the fault.
ArtifactFile open_artifact(const std::string& path);
/// If keys are given, also fails unless one of them has signed the bytes that it returns.
ArtifactFile open_artifact(const std::string& path, const TrustOption& trust);

}  // namespace gcg::tools
