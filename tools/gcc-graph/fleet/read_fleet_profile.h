// What --monitor wrote of an artifact.
#pragma once

#include <string>

#include "artifact_schema/reader.h"
#include "gcc_graph/place.h"

namespace gcg::tools {

/// Throws Error that names the file and what is wrong with it, or that it was measured of another artifact.
gcc_graph::FleetProfile read_fleet_profile(const std::string& path, const gart::ArtifactView& artifact);

}  // namespace gcg::tools
