// Extracts the nodes between given values of a model as a function.
#pragma once

#include <onnx/onnx_pb.h>

#include "compiler/functions/carve_options.h"

namespace gcg {

/// The function has no name if none is requested. Input and output types are included if the model declares them or
/// importing can infer them. `path`: the model's file; its external files lie in the same folder.
onnx::FunctionProto carve(const onnx::ModelProto& model, const std::string& path, const CarveOptions& options);

}  // namespace gcg
