// The strings of a model whose inputs are strings.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "compiler/import/function_library.h"

namespace gcg {

/// If the model has an input of strings: all strings that an element may be compared with or become, in ascending
/// order. These are constants, keys, values and categories, in all subgraphs and functions. Never empty then; else
/// empty.
std::vector<std::string> dictionary_of(const onnx::ModelProto& model, const std::vector<FunctionLibrary>& libraries);

}  // namespace gcg
