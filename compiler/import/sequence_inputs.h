// Inputs of a model that are sequences or optionals of tensors.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

namespace gcg {

/// Makes each such input that `lengths` names as many inputs, one per element, and a node that puts them together:
///   x: seq(float[n]) of length 2  ->  x.0: float[n_0], x.1: float[n_1]; x = SequenceConstruct(x.0, x.1)
/// An optional has 0 elements or 1; where that is a sequence, as many as it has. Returns the names of those inputs.
std::vector<std::string> spread_sequence_inputs(onnx::ModelProto& model, const std::map<std::string, int64_t>& lengths);

}  // namespace gcg
