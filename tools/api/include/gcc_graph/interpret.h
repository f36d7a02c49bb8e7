// Runs ONNX models without compiling them: slowly, on one thread, by the plain definitions of the operators. It shares
// no code with the kernels, so its results show whether the kernels are right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gcc_graph/types.h"

namespace gcc_graph {

/// An array that owns its elements, dense and row-major.
struct HostArray {
  std::string name;
  DType dtype = DType::undefined;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};

/// One array per input of the model, by name. `outputs`: ONNX names of the values to return, in this order; empty: the
/// model's outputs. Throws Error with one sentence.
GCC_GRAPH_API std::vector<HostArray> interpret_model(const std::string& path, const std::vector<HostArray>& inputs,
                                                     const std::vector<std::string>& outputs = {});

/// The ONNX names of all floats that the nodes of the outermost graph compute, in the order of the nodes.
GCC_GRAPH_API std::vector<std::string> computed_floats(const std::string& path);

}  // namespace gcc_graph
