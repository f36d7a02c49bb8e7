// What gcc-graph compile says of the artifact it wrote to `output` in `seconds`.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"

namespace gcg::tools {

/// `remarks`: sentences.
void print_compiled(const std::string& output, const CompileResult& result, const std::vector<std::string>& remarks,
                    double seconds);
/// The same facts, and those of the fleet's parts, as JSON.
void print_compiled_json(const std::string& output, const CompileResult& result,
                         const std::vector<std::string>& remarks, double seconds);

}  // namespace gcg::tools
