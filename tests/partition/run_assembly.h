// Runs an assembly with the interpreter.
#pragma once

#include <map>
#include <vector>

#include "compiler/partition/assembly.h"

namespace gcg::test {

/// Runs the calls in order and returns the tensor of each value. Fails if an input or a symbol of a call is not
/// available in time.
std::map<ValueId, Tensor> run_assembly(const Assembly& assembly, const std::vector<Tensor>& inputs);

/// Runs graph and assembly on random inputs and compares the outputs bit for bit. Symbols of the inputs become
/// `extent`.
void expect_same_results(const Graph& graph, const Assembly& assembly, int64_t extent);

/// Checks that every wanted node is in one call, that the calls' order is valid, and that parts are valid.
void expect_sound(const Assembly& assembly);

}  // namespace gcg::test
