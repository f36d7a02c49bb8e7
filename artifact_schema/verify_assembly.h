// Does the assembly of an artifact make sense? After this check a fleet follows every index in it without looking
// again.
#pragma once

#include "artifact_schema/reader.h"
#include "artifact_schema/status.h"
#include "assembly_generated.h"

namespace gart {

inline constexpr uint32_t kMaxCores = 1024;  // that a pool can name

/// Requires that verify_artifact found the artifact sound. `assembly`: null if it has none. The sentence says where:
/// value, call, group, device.
Status verify_assembly(const ArtifactView& artifact, const fb::Assembly*& assembly);

}  // namespace gart
