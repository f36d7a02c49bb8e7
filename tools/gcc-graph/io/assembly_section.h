// Reads and replaces the assembly of an artifact. The rest of the file is not changed, however large its weights are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "artifact_schema/reader.h"
#include "assembly_generated.h"
#include "gcc_graph/place.h"

namespace gcg::tools {

/// A memory-mapped artifact. Its header and manifest are verified; the digests of code and weights are not compared.
class MappedArtifact {
 public:
  /// Throws Error that names the file and the fault.
  explicit MappedArtifact(const std::string& path);
  ~MappedArtifact();
  MappedArtifact(const MappedArtifact&) = delete;
  MappedArtifact& operator=(const MappedArtifact&) = delete;

  const gart::ArtifactView& view() const { return view_; }

 private:
  std::span<const uint8_t> bytes_;
  gart::ArtifactView view_;
};

/// The artifact's assembly as tables. Throws Error if it is damaged.
const gart::fb::Assembly& assembly_of(const gart::ArtifactView& artifact);

/// The assembly in a form that can be placed, with the weights that the parts of each group read.
gcc_graph::Placing placing_of(const gart::ArtifactView& artifact);

/// Writes `from` to `to` with this assembly in place of the old one; all other sections stay the same. Shares the
/// blocks of `from` if the file system supports it, else copies them. `to` is replaced only if the verifier accepts the
/// new file. Throws Error. After a failure or a crash, `to` is unchanged.
void write_assembly(const std::string& from, const std::string& to, std::span<const uint8_t> section);

}  // namespace gcg::tools
