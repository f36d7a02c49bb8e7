// Checks the meaning of the manifest. Afterwards the runtime follows every index, offset and size without checking
// again. Values that depend on the caller's shapes (symbolic sizes, constraints, placement) are checked by the same
// functions per shape.
#pragma once

#include "artifact_schema/reader.h"
#include "artifact_schema/status.h"

namespace gart {

inline constexpr size_t kMaxTensorRank = 16;
inline constexpr size_t kMaxStringBytes = 1 << 20;
// Limits the length of messages, because they contain names of symbols.
inline constexpr size_t kMaxSymbolBytes = 1 << 10;
inline constexpr uint32_t kMaxStreams = 1024;  // streams of a plan
inline constexpr size_t kMaxBodyDepth = 64;    // depth of nested branches and loops

/// Requires that read_artifact succeeded. The sentence names the place: entry point, plan, sequence, step, operand.
Status verify_artifact(const ArtifactView& artifact);

}  // namespace gart
