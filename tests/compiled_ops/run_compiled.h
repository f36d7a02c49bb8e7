// Compiles graphs to artifacts in memory and runs them, for tests that compare machine code with the interpreter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "gart/gart.hpp"

namespace gcg::test {

/// The tested CPU targets whose code this machine can run; for graphs with 8-bit types, includes the target with VNNI.
std::vector<std::string> runnable_targets(const Graph& graph);

/// One artifact with code for all these targets. Throws CompileError.
std::vector<uint8_t> compile_artifact(const Graph& graph);

/// Runs the artifact's code for `target` once. An error of the runtime fails the test and gives no
/// outputs.
std::vector<Tensor> run_artifact(const std::vector<uint8_t>& artifact, const std::string& target,
                                 const std::vector<Tensor>& inputs);

}  // namespace gcg::test
