// Content in, .gart bytes out. The content's structs are the ones flatc makes from gart.fbs (fb::ManifestT, fb::PlanT
// ...), so that the schema is the one definition of the file.
#pragma once

#include <cstdint>
#include <vector>

#include "artifact_schema/container.h"
#include "gart_generated.h"

namespace gart {

struct ArtifactContent {
  fb::ManifestT manifest;  // the writer fills weights_section and targets[i]->code_section
  std::vector<std::vector<uint8_t>>
      code;                      // code[i]: the blob of manifest.targets[i]; empty: none. May be shorter than targets
  std::vector<uint8_t> weights;  // empty: no weights section
};

struct WriteOptions {
  uint64_t raw_alignment =
      kRawAlignment;  // of code and weights; a power of two >= 64. Smaller ones make small test files
};                    // whose code cannot be mapped and is copied instead

/// The same content gives the same bytes. Does not verify the content: read_artifact + verify_manifest do.
std::vector<uint8_t> write_artifact(ArtifactContent content, const WriteOptions& options = {});

}  // namespace gart
