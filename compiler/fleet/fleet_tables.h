// Devices and links as tables of the fleet plan in a file (artifact_schema/assembly.fbs).
#pragma once

#include <memory>

#include "assembly_generated.h"
#include "compiler/fleet/fleet.h"

namespace gcg {

std::unique_ptr<gart::fb::FleetDeviceT> emit_device(const FleetDevice& device);
std::unique_ptr<gart::fb::FleetLinkT> emit_link(const FleetLink& link);

}  // namespace gcg
