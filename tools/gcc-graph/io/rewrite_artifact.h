// Writes a copy of an artifact in which some content is replaced.
#pragma once

#include <functional>
#include <vector>

#include "artifact_schema/reader.h"
#include "artifact_schema/writer.h"

namespace gcg::tools {

/// The bytes of the artifact after `change`. Throws Error if a runtime would refuse the result.
std::vector<uint8_t> rewritten(const gart::ArtifactView& artifact,
                               const std::function<void(gart::ArtifactContent&)>& change);

}  // namespace gcg::tools
