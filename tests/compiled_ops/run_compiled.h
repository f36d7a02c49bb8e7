// Graphs compiled to an artifact in memory and run, for tests that compare machine code with the interpreter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "gart/gart.hpp"

namespace gcg::test {

/// The CPU targets whose code this machine can run, of those we compile for in tests; the one that multiplies bytes for
/// graphs that have some.
std::vector<std::string> runnable_targets(const Graph& graph);

/// One artifact with code for all of them. Throws CompileError.
std::vector<uint8_t> compile_artifact(const Graph& graph);

/// Runs the artifact's code for `target` once; an error of the runtime is reported as a failure of the test and gives
/// no outputs.
std::vector<Tensor> run_artifact(const std::vector<uint8_t>& artifact, const std::string& target,
                                 const std::vector<Tensor>& inputs);

}  // namespace gcg::test
