// What --monitor wrote of an artifact.
#pragma once

#include <string>

#include "artifact_schema/reader.h"
#include "compiler/place/fleet_profile.h"

namespace gcg::tools {

/// Throws Error that names the file and what is wrong with it, or that it was measured of another artifact.
FleetProfile read_fleet_profile(const std::string& path, const gart::ArtifactView& artifact);

}  // namespace gcg::tools
