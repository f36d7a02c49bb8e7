// Shows, as JSON and as text, how parts make up a model and where they run.
#pragma once

#include <nlohmann/json.hpp>

#include "artifact_schema/reader.h"
#include "gcc_graph/place.h"

namespace gcg::tools {

/// Adds "devices", "links", "groups", "crossings" and "predicted_us" to the report of an artifact that was cut;
/// otherwise adds nothing. `artifact`: verified. Bytes of crossing values are for the extents that predictions assume.
void add_assembly(const gart::ArtifactView& artifact, nlohmann::ordered_json& report);

/// Adds "measured" to each group and "measured_us" to the report. `profile`: measurements of this artifact.
void add_measurements(const gcc_graph::FleetProfile& profile, nlohmann::ordered_json& report);

/// Prints the fields that add_assembly added.
void print_assembly(const nlohmann::ordered_json& report);

}  // namespace gcg::tools
