// An artifact opened for looking at, without a runtime.
#pragma once

#include <string>
#include <vector>

#include "artifact_schema/reader.h"
#include "artifact_schema/status.h"

namespace gcg::tools {

struct ArtifactFile {
  std::vector<uint64_t> storage;  // 8-byte aligned bytes of the file
  gart::ArtifactView view;
};

/// Fails unless every index of manifest and assembly makes sense.
gart::Status verify_whole(const gart::ArtifactView& artifact);

/// Reads and verifies (digests and every index). Throws Error naming the file and what is wrong.
ArtifactFile open_artifact(const std::string& path);

}  // namespace gcg::tools
