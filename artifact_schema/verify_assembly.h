// Does the assembly of an artifact make sense? After this check a fleet follows every index in it without looking
// again.
#pragma once

#include "artifact_schema/reader.h"
#include "artifact_schema/status.h"
#include "assembly_generated.h"

namespace gart {

inline constexpr uint32_t kMaxCores = 1024;                     // that a pool can name
inline constexpr double kMaxMicroseconds = 1e15;                // of a group or a transfer: 30 years
inline constexpr double kMinRate = 1e-6, kMaxRate = 1e9;        // GFLOP/s and GB/s, where they are known
inline constexpr int64_t kMaxAssemblyBytes = int64_t{1} << 60;  // of all groups and values: their sums never overflow

/// Requires that verify_artifact found the artifact sound. `assembly`: null if it has none. The sentence says where:
/// value, call, group, device.
Status verify_assembly(const ArtifactView& artifact, const fb::Assembly*& assembly);

}  // namespace gart
