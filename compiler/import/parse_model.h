// Parses the bytes of a model file into a ModelProto.
#pragma once

#include <onnx/onnx_pb.h>

#include <memory>
#include <span>
#include <string>

namespace gcg {

/// Throws CompileError if the bytes are not a model; `what` names them in the message.
std::shared_ptr<onnx::ModelProto> parse_model(std::span<const uint8_t> bytes, const std::string& what);

}  // namespace gcg
