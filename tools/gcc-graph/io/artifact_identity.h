// An artifact's identity, which does not depend on its placement: the digests of all sections but the assembly.
#pragma once

#include <string>

#include "artifact_schema/reader.h"

namespace gcg::tools {

std::string artifact_identity(const gart::ArtifactView& artifact);  // 32 hexadecimal digits

}  // namespace gcg::tools
