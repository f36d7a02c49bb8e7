// Digests of sections (container.h). XXH3 runs at memory speed, so checking ResNet-50's 100 MB costs about 10 ms. A
// cryptographic hash would cost 50 ms and, without a signature, prove nothing more.
#pragma once

#include <cstdint>
#include <span>

#include "artifact_schema/container.h"

namespace gart {

inline constexpr uint64_t kDigestChunk = 1 << 20;

/// The tree digest of a section, on up to `threads` threads (big sections only). The result does not depend on
/// `threads`.
Digest digest_section(std::span<const uint8_t> bytes, int threads = 1);

/// The digest of the prologue's leading bytes and the section table.
Digest digest_header(const Prologue& prologue, std::span<const SectionEntry> sections);

}  // namespace gart
