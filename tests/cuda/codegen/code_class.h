// Groups GPUs for which ptxas makes the same code from the same text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/kernel/target.h"

namespace gcg::test {

/// The name of the target's class: targets have the same code, byte by byte, if they have the same class. For example,
/// "sm_90a" has instructions that "sm_90" lacks, but a text that both accept gives the same code. (This does not hold
/// for "sm_120" and "sm_121", nor for "sm_86" and "sm_89".) Assembly::compare_codes checks this.
std::string code_class(const Target& target);

/// The machine code of each function of a cubin, by section name.
std::map<std::string, std::vector<uint8_t>> functions_of(const std::vector<uint8_t>& cubin);

}  // namespace gcg::test
