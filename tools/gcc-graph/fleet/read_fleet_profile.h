// Reads the measurements that --monitor wrote.
#pragma once

#include <string>

#include "artifact_schema/reader.h"
#include "gcc_graph/place.h"

namespace gcg::tools {

/// Throws Error that names the file and the fault, or says that another artifact was measured.
gcc_graph::FleetProfile read_fleet_profile(const std::string& path, const gart::ArtifactView& artifact);

}  // namespace gcg::tools
