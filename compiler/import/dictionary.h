// The strings of a model whose inputs are strings.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "compiler/import/function_library.h"

namespace gcg {

/// All strings that an element may be compared with or become, in ascending order: constants, keys, values and
/// categories in all subgraphs and functions. The result is empty exactly if the model has no input of strings.
std::vector<std::string> dictionary_of(const onnx::ModelProto& model, const std::vector<FunctionLibrary>& libraries);

}  // namespace gcg
