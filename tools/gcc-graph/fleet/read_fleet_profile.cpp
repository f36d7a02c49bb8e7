#include "tools/gcc-graph/fleet/read_fleet_profile.h"

#include "tools/gcc-graph/io/artifact_identity.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

gcc_graph::FleetProfile read_fleet_profile(const std::string& path, const gart::ArtifactView& artifact) {
  const std::vector<uint8_t> bytes = read_file(path);
  gcc_graph::FleetProfile profile = gcc_graph::parse_fleet_profile({bytes.begin(), bytes.end()}, path);
  const std::string identity = artifact_identity(artifact);
  if (profile.artifact != identity)
    fail(path, ": it was measured with another artifact (", profile.artifact, ", this one is ", identity, ")");
  return profile;
}

}  // namespace gcg::tools
