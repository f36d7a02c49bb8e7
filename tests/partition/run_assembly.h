// An assembly run by the interpreter.
#pragma once

#include <map>
#include <vector>

#include "compiler/partition/assembly.h"

namespace gcg::test {

/// Runs the calls in their order and returns the tensor of each value. The calls' inputs and the symbols must be there
/// when they are needed.
std::map<ValueId, Tensor> run_assembly(const Assembly& assembly, const std::vector<Tensor>& inputs);

/// Runs graph and assembly on random inputs and compares the outputs bit for bit. Symbols of the inputs become
/// `extent`.
void expect_same_results(const Graph& graph, const Assembly& assembly, int64_t extent);

/// Every node that is wanted is in one call, calls run in order, parts are sound.
void expect_sound(const Assembly& assembly);

}  // namespace gcg::test
