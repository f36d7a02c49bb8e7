// Model inputs that are sequences or optionals of tensors.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

namespace gcg {

/// Replaces each such input that `lengths` names with one input per element, and adds a node that joins them:
///   x: seq(float[n]) of length 2  ->  x.0: float[n_0], x.1: float[n_1]; x = SequenceConstruct(x.0, x.1)
/// An optional has 0 elements or 1; an optional sequence has as many as the sequence. Returns the names of the replaced
/// inputs.
std::vector<std::string> spread_sequence_inputs(onnx::ModelProto& model, const std::map<std::string, int64_t>& lengths);

}  // namespace gcg
