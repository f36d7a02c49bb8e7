// The nodes of a model between values, as a function.
#pragma once

#include <onnx/onnx_pb.h>

#include "compiler/functions/carve_options.h"

namespace gcg {

/// The function without a name, if none is asked for; types of inputs and outputs as far as the model says them or
/// importing it finds them out. `path`: where the model lies; beside it lie its external files.
onnx::FunctionProto carve(const onnx::ModelProto& model, const std::string& path, const CarveOptions& options);

}  // namespace gcg
