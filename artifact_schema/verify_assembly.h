// Checks the meaning of an artifact's assembly. Afterwards a fleet follows every index in it without checking again.
#pragma once

#include "artifact_schema/reader.h"
#include "artifact_schema/status.h"
#include "assembly_generated.h"

namespace gart {

inline constexpr uint32_t kMaxCores = 1024;               // the highest number of cores that a pool can name
inline constexpr double kMaxMicroseconds = 1e15;          // limit for the time of a group or a transfer: 30 years
inline constexpr double kMinRate = 1e-6, kMaxRate = 1e9;  // GFLOP/s and GB/s, where they are known
inline constexpr int64_t kMaxAssemblyBytes =
    int64_t{1} << 60;  // limit for all groups and values, so that their sums never overflow

/// Requires that verify_artifact succeeded. `assembly`: null if the artifact has none. The sentence names the place:
/// value, call, group, device.
Status verify_assembly(const ArtifactView& artifact, const fb::Assembly*& assembly);

}  // namespace gart
