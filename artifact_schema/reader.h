// Turns the bytes of an artifact into a view of it. Nothing is copied except the section table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact_schema/container.h"
#include "artifact_schema/status.h"
#include "gart_generated.h"

namespace gart {

/// A view into the bytes that were read, which must outlive it.
struct ArtifactView {
  std::span<const uint8_t> file;
  std::vector<SectionEntry> sections;
  const fb::Manifest* manifest = nullptr;

  std::span<const uint8_t> section(size_t index) const {
    return file.subspan(sections[index].offset, sections[index].size);
  }
  /// Empty if the artifact has none.
  std::span<const uint8_t> weights() const {
    return manifest->weights_section() < 0 ? std::span<const uint8_t>() : section(manifest->weights_section());
  }
  /// A FlatBuffer that is not verified yet (verify_assembly.h); empty if the artifact has none.
  std::span<const uint8_t> assembly() const {
    return sections.back().kind == SectionKind::assembly ? section(sections.size() - 1) : std::span<const uint8_t>();
  }
};

struct ReadOptions {
  bool digests = true;  // whether to check the digests of code and weights; header and manifest are always checked
  int threads = 1;      // threads for the digests of big sections
};

/// Checks the container and the FlatBuffers structure of the manifest: afterwards every access through the generated
/// accessors stays inside the file. verify_artifact checks the meaning of the numbers (verify.h). `bytes` must be
/// 8-byte aligned. On failure `view` is unspecified.
Status read_artifact(std::span<const uint8_t> bytes, ArtifactView& view, const ReadOptions& options = {});

}  // namespace gart
