// What an artifact says about the steps of the plan that a program runs for given inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gart/gart.hpp"
#include "tools/gcc-graph/io/tensor_io.h"

namespace gcg::tools {

struct StepFacts {
  std::string kind;    // "launch"
  std::string kernel;  // "conv_relu"; empty: the step launches none
  std::string source;  // ONNX node names
  // Arithmetic operations on elements, and bytes of the operands, each counted once; nullopt where they depend on data.
  std::optional<double> operations, bytes;
};

/// By number of the step, as gart::StepTime has it. Throws Error if the file cannot be read.
std::vector<StepFacts> step_facts(const std::string& artifact, const gart::Program& program,
                                  const NamedTensors& inputs);

}  // namespace gcg::tools
