// Reduces a model to the part that computes some of its values.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace gcg {

/// Makes `outputs` the model's outputs, in this order, and removes nodes and inputs that they do not need. They name
/// values of the model's graph: results of any node, inputs or weights. An empty list changes nothing. Throws
/// CompileError for a name that is not a value (with the nearest ones), and for a name listed twice.
void choose_outputs(onnx::ModelProto& model, const std::vector<std::string>& outputs);

}  // namespace gcg
