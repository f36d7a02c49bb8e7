// The bytes of a model file as a ModelProto.
#pragma once

#include <onnx/onnx_pb.h>

#include <memory>
#include <span>
#include <string>

namespace gcg {

/// Throws CompileError for what is none; `what` names it.
std::shared_ptr<onnx::ModelProto> parse_model(std::span<const uint8_t> bytes, const std::string& what);

}  // namespace gcg
