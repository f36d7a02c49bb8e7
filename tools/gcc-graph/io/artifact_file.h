// An artifact opened for looking at, without a runtime.
#pragma once

#include <string>
#include <vector>

#include "artifact_schema/reader.h"

namespace gcg::tools {

struct ArtifactFile {
  std::vector<uint64_t> storage;  // 8-byte aligned bytes of the file
  gart::ArtifactView view;
};

/// Reads and verifies (digests and every index). Throws CompileError naming the file and what is wrong.
ArtifactFile open_artifact(const std::string& path);

}  // namespace gcg::tools
