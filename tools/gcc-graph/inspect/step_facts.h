// The facts that an artifact holds about the steps of a plan. The plan is the one that a program runs for the given
// inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gart/gart.hpp"
#include "tools/gcc-graph/io/tensor_io.h"

namespace gcg::tools {

struct StepFacts {
  std::string kind;    // "launch"
  std::string kernel;  // "conv_relu"; empty: the step launches no kernel
  std::string note;    // the variant of a GPU's kernel: "128x64x32 3xtf32 wgmma, TMA, 6 stages"
  std::string source;  // names of ONNX nodes
  // Arithmetic operations on elements, and bytes of the operands, each operand counted once. nullopt if they depend on
  // data.
  std::optional<double> operations, bytes;
};

/// Indexed by step number, as in gart::StepTime. `entry` is the name of an entry point; empty: the first one. Throws
/// Error if the file cannot be read.
std::vector<StepFacts> step_facts(const std::string& artifact, const gart::Program& program, const std::string& entry,
                                  const NamedTensors& inputs);

}  // namespace gcg::tools
