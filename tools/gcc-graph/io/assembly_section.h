// The assembly of an artifact, read and replaced without touching the rest of the file, however large its weights are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "artifact_schema/reader.h"
#include "assembly_generated.h"
#include "gcc_graph/place.h"

namespace gcg::tools {

/// An artifact mapped, its header and manifest proven, but no digest of code or weights compared.
class MappedArtifact {
 public:
  /// Throws Error naming the file and what is wrong.
  explicit MappedArtifact(const std::string& path);
  ~MappedArtifact();
  MappedArtifact(const MappedArtifact&) = delete;
  MappedArtifact& operator=(const MappedArtifact&) = delete;

  const gart::ArtifactView& view() const { return view_; }

 private:
  std::span<const uint8_t> bytes_;
  gart::ArtifactView view_;
};

/// Its assembly as tables. Throws Error where it is damaged.
const gart::fb::Assembly& assembly_of(const gart::ArtifactView& artifact);

/// The same to be placed, with the weights that the parts of each group read.
gcc_graph::Placing placing_of(const gart::ArtifactView& artifact);

/// `from` with this assembly instead of its own, as `to`; no other section changes a byte. Shares the blocks of `from`
/// where the file system can, else copies them. What the verifier refuses never becomes `to`. Throws Error; a failure
/// leaves `to` as it was, and so does a crash.
void write_assembly(const std::string& from, const std::string& to, std::span<const uint8_t> section);

}  // namespace gcg::tools
