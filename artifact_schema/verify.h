// Does the manifest make sense? After this check the runtime follows every index, offset and size without looking
// again; what depends on the caller's shapes (symbolic sizes, constraints, placement) is checked by the same functions
// per shape.
#pragma once

#include "artifact_schema/reader.h"
#include "artifact_schema/status.h"

namespace gart {

inline constexpr size_t kMaxTensorRank = 16;
inline constexpr size_t kMaxStringBytes = 1 << 20;
inline constexpr size_t kMaxSymbolBytes = 1 << 10;  // names of symbols stand in expressions, and those in messages
inline constexpr uint32_t kMaxStreams = 1024;       // of a plan
inline constexpr size_t kMaxBodyDepth = 64;         // branches and loops within each other

/// Is the plan of a compiler that left steps of a GPU's plan to the CPU? Nothing is proven of such a plan but its
/// target, and nothing runs it; the others of its file are as good as ever.
bool is_retired(const fb::Manifest& manifest, const fb::Plan& plan);

/// Requires read_artifact to have succeeded. The sentence says where: entry point, plan, sequence, step, operand.
Status verify_artifact(const ArtifactView& artifact);

}  // namespace gart
