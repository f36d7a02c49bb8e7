// An artifact's plans as an ONNX model that shows them in viewers such as Netron. It cannot be run.
#pragma once

#include <string>

#include "artifact_schema/reader.h"

namespace gcg::tools {

/// The serialized model. Its graph is the first plan of the first entry point; each other plan is a function of the
/// domain "gart.plan". Kernels are nodes of the domain "gart", and calls are nodes of their library's domain. A node's
/// doc_string names the source nodes. `artifact`: verified.
std::string onnx_text(const gart::ArtifactView& artifact);

}  // namespace gcg::tools
