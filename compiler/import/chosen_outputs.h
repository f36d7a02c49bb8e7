// The part of a model that computes some of its values.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace gcg {

/// Makes `outputs`, values of the model's graph by name (of any node's results, inputs, weights), the model's outputs,
/// in this order, and takes away nodes and inputs that they do not need. Nothing for none. Throws CompileError for a
/// name that is no value, with the nearest ones, and for one listed twice.
void choose_outputs(onnx::ModelProto& model, const std::vector<std::string>& outputs);

}  // namespace gcg
