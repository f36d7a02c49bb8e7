// How a model's parts make it, and where they run, as JSON and as lines.
#pragma once

#include <nlohmann/json.hpp>

#include "artifact_schema/reader.h"
#include "gcc_graph/place.h"

namespace gcg::tools {

/// Adds "devices", "links", "groups", "crossings" and "predicted_us" to the report of an artifact that was cut; nothing
/// otherwise. `artifact`: verified. Bytes of what crosses are those
/// of the extents that predictions are for.
void add_assembly(const gart::ArtifactView& artifact, nlohmann::ordered_json& report);

/// Adds "measured" to each group and "measured_us" to the report. `profile`: of this artifact.
void add_measurements(const gcc_graph::FleetProfile& profile, nlohmann::ordered_json& report);

/// What add_assembly added.
void print_assembly(const nlohmann::ordered_json& report);

}  // namespace gcg::tools
