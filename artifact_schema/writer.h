// Writes the bytes of a .gart file. The content's structs are those that flatc makes from gart.fbs (fb::ManifestT,
// fb::PlanT ...), so that the schema is the one definition of the file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact_schema/container.h"
#include "gart_generated.h"

namespace gart {

/// Bytes from `offset` of the weights section on. Bytes between pieces are zero.
struct WeightPiece {
  uint64_t offset;
  std::span<const uint8_t> bytes;  // owned by the caller, until the file is written
};

struct ArtifactContent {
  fb::ManifestT manifest;  // the writer fills weights_section and targets[i]->code_section
  std::vector<std::vector<uint8_t>>
      code;  // code[i] is the blob of manifest.targets[i]; empty: none. May be shorter than targets
  std::vector<uint8_t>
      weights;  // the section's bytes; if empty, weight_pieces have them, and they are copied once, into the file
  uint64_t weight_bytes = 0;  // size of the section, if it is given in pieces; 0: no pieces
  std::vector<WeightPiece> weight_pieces;
  std::vector<uint8_t> assembly;  // a finished FlatBuffer of assembly.fbs; empty: none
};

struct WriteOptions {
  uint64_t raw_alignment = kRawAlignment;  // of code and weights; a power of two >= 64. Smaller ones make small test
                                           // files, whose code cannot be mapped and is copied
};

/// The same content gives the same bytes. Does not verify the content: read_artifact + verify_artifact do.
std::vector<uint8_t> write_artifact(ArtifactContent content, const WriteOptions& options = {});

}  // namespace gart
